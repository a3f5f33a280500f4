import { Result } from "effect"
import { conflictView } from "./Conflict.ts"
import { Content, Drafts, subjectOf, type Subject } from "./Content.ts"
import { button, copyText, element, saveFile } from "./Dom.ts"
import { History } from "./History.ts"
import * as client from "./LinkClient.ts"
import type { EditableLink, Failure } from "./LinkClient.ts"
import { Notice, SaveBar } from "./SaveBar.ts"
import { header, ServerClock, systemFieldList, type Header } from "./ViewerHeader.ts"

/** What a person types into. */
export interface Editor {
  readonly root: HTMLElement
  /** Its text, finished or not. */
  readonly typed: () => string
  /** Replaces its text. */
  readonly show: (typed: string) => void
  readonly focus: () => void
}

/** Makes the editor of a subject; `onRefused` is told when something can't be done because of a fault of what is typed. */
type OpenEditor = (typed: string, onChange: () => void, onRefused: () => void) => Editor

/** The page of a row or a text field: what is stored, what is typed, and how one becomes the other. */
export class Editing {
  readonly #root: HTMLElement
  readonly #subject: Subject
  readonly #drafts: Drafts
  readonly #notice = new Notice()
  readonly #bar = new SaveBar(
    () => void this.#save(),
    () => this.#discard()
  )
  readonly #editor: Editor
  readonly #content: Content
  readonly #header: Header
  readonly #past: History
  readonly #body = element("div", { class: "viewer-body" })
  #busy = false
  #ended = false
  #deciding = false
  #waitUntil = 0

  constructor(root: HTMLElement, data: EditableLink, open: OpenEditor) {
    this.#root = root
    this.#subject = subjectOf(data)
    this.#drafts = new Drafts(data.kind, data.table, data.id, data.kind === "text" ? data.field : "")
    this.#editor = open(
      this.#subject.typed(this.#subject.content(data)),
      () => this.#changed(),
      () => this.#bar.announce()
    )
    this.#content = new Content(data, this.#subject, this.#editor)
    this.#past = new History({
      kind: data.kind,
      subject: this.#subject,
      notice: this.#notice,
      stored: () => this.#content.stored,
      refusal: () => this.#refusal(),
      show: (restored) => {
        if (!this.#content.isChanged()) return this.#show(restored)
        // Typing went on while the restore was on its way.
        this.#adopt(restored)
        this.#changed()
      },
      failed: (failure) => this.#failed(failure, this.#content.stored)
    })
    const history = button("History", () => void this.#past.open())
    this.#header = header(data, new ServerClock(data.server_time), [history], () => this.#end("This link has expired."))
  }

  /** Shows the page, listens, and counts down. */
  start(): void {
    this.#render()
    this.#recall()
    // Before the editors, which keep keys to themselves.
    addEventListener("keydown", (event) => this.#pressed(event), { capture: true })
    addEventListener("beforeunload", (event) => this.#content.isChanged() && event.preventDefault())
    this.#header.start()
  }

  #render(): void {
    this.#body.replaceChildren(systemFieldList(this.#content.data), this.#editor.root)
    this.#root.replaceChildren(this.#header.root, this.#notice.root, this.#body, this.#bar.root)
  }

  #pressed(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s") return
    event.preventDefault()
    if (this.#content.isChanged() && !this.#deciding) void this.#save()
  }

  /** Recovers what was typed before a reload. */
  #recall(): void {
    const draft = this.#drafts.read()
    if (draft === undefined) return
    // It was saved, and only the response was lost.
    const saved = this.#subject.check(draft.typed, draft.stored)
    if (Result.isSuccess(saved) && saved.success === this.#content.stored) return this.#drafts.drop()
    this.#editor.show(draft.typed)
    this.#notice.say("note", "Your unsaved changes were recovered.")
    if (draft.updatedAt !== this.#content.updatedAt) {
      const mine = this.#subject.check(draft.typed, draft.stored)
      if (Result.isSuccess(mine)) return this.#decide(draft.stored, mine.success)
      // Once the text can be saved, saving it finds the conflict.
      this.#content.rebase(draft)
    }
    this.#changed()
  }

  #changed(): void {
    // While there is a conflict, the draft stays with what it was typed over.
    if (this.#deciding) return
    if (!this.#content.isChanged()) {
      this.#drafts.drop()
      this.#bar.hide()
      return
    }
    this.#drafts.keep(this.#content.draft())
    // "Saved." would seem to cover what was typed since.
    this.#notice.clearGood()
    this.#updateBar()
  }

  #updateBar(): void {
    if (this.#deciding || !this.#content.isChanged()) return this.#bar.hide()
    const checked = this.#content.checked()
    const { bytes, limit } = this.#subject
    this.#bar.show({
      bytes: Result.isSuccess(checked) ? bytes(checked.success) : undefined,
      limit,
      fault: Result.isFailure(checked) ? checked.failure : undefined,
      blocked: this.#ended || performance.now() < this.#waitUntil,
      busy: this.#busy
    })
  }

  async #save(): Promise<void> {
    const checked = this.#content.checked()
    if (this.#busy || this.#ended || performance.now() < this.#waitUntil) return
    if (Result.isFailure(checked)) return this.#bar.announce()
    await this.#send(checked.success)
  }

  async #send(content: string): Promise<void> {
    const stored = this.#content.stored
    this.#setBusy(true)
    const saved = await client.save(this.#subject.body(this.#content.updatedAt, stored, content))
    this.#setBusy(false)
    if (saved.kind !== "ok") return this.#failed(saved, content)
    this.#saved(saved.value, stored)
  }

  #saved(data: EditableLink, replaced: string): void {
    this.#adopt(data)
    this.#changed()
    this.#notice.say(
      "good",
      "Saved.",
      button("Undo", () => void this.#past.undo(replaced))
    )
  }

  #setBusy(busy: boolean): void {
    this.#busy = busy
    this.#updateBar()
  }

  /** Takes a newer state as what is stored; what was typed meanwhile stays in the editor. */
  #adopt(data: EditableLink): void {
    this.#content.adopt(data)
    this.#body.firstElementChild?.replaceWith(systemFieldList(data))
  }

  /** Takes a newer state and shows it. */
  #show(data: EditableLink): void {
    this.#adopt(data)
    this.#content.showStored()
    this.#changed()
  }

  #failed(failure: Failure, content: string): void {
    switch (failure.kind) {
      case "conflict": {
        const base = this.#content.stored
        // An earlier try succeeded, and only its response was lost.
        if (this.#subject.content(failure.current) === content) return this.#saved(failure.current, base)
        this.#drafts.keep(this.#content.draft())
        this.#adopt(failure.current)
        // The row changed in places that this page does not show.
        if (this.#content.stored === base) return void this.#send(content)
        // Typing goes on while a save is on its way.
        const mine = this.#subject.check(this.#editor.typed(), base)
        return this.#decide(
          base,
          Result.getOrElse(mine, () => content)
        )
      }
      case "expired":
        return this.#end(client.explain(failure))
      case "wait":
        this.#wait(failure.seconds)
        return this.#notice.say("danger", `Nothing was saved. ${client.explain(failure)} Your text is kept.`)
      case "unreachable": {
        const retry = button("Try again", () => void this.#save())
        return this.#notice.say(
          "danger",
          `${client.explain(failure)} Until then your text is kept here, but not saved.`,
          retry
        )
      }
      case "refused":
        return this.#notice.say("danger", `Nothing was saved. ${client.explain(failure)} Your text is kept.`)
    }
  }

  #wait(seconds: number): void {
    this.#waitUntil = performance.now() + seconds * 1000
    this.#updateBar()
    setTimeout(
      () => {
        this.#updateBar()
        if (!this.#ended) this.#notice.say("note", "You can save again.")
      },
      seconds * 1000 + 50
    )
  }

  /** Lets the person choose between what they typed over `base` and what is stored. */
  #decide(base: string, mine: string): void {
    this.#deciding = true
    this.#notice.clear()
    const done = () => {
      this.#deciding = false
      this.#render()
      this.#editor.focus()
    }
    const view = conflictView({
      kind: this.#content.data.kind,
      base,
      mine,
      theirs: this.#content.stored,
      onDecided: (content) => {
        done()
        this.#editor.show(this.#subject.typed(content))
        this.#changed()
        if (content === this.#content.stored) return this.#notice.say("good", "This is already the saved version.")
        void this.#send(content)
      },
      onKeepTheirs: () => {
        done()
        this.#show(this.#content.data)
        const back = button("Restore mine", () => {
          this.#editor.show(this.#subject.typed(mine))
          this.#changed()
          this.#notice.clear()
        })
        this.#notice.say("note", "Kept theirs.", back)
      }
    })
    this.#root.replaceChildren(this.#header.root, this.#notice.root, view, this.#bar.root)
    this.#bar.hide()
    view.querySelector("h2")?.focus()
  }

  #discard(): void {
    const typed = this.#editor.typed()
    this.#show(this.#content.data)
    const back = button("Undo", () => {
      this.#editor.show(typed)
      this.#changed()
      this.#notice.clear()
    })
    this.#notice.say("note", "Changes discarded.", back)
    this.#editor.focus()
  }

  #refusal(): string | undefined {
    if (this.#ended) return "This link has expired, so it can't restore anything."
    return this.#content.isChanged() ? "Save or discard your changes first, then restore." : undefined
  }

  #end(why: string): void {
    this.#ended = true
    this.#header.end()
    this.#updateBar()
    const kept = this.#content.isChanged() ? "Your unsaved text stays here" : "The text stays here"
    const next = "To save, ask the agent for a new link and open it in this tab."
    this.#notice.say("warning", `${why} ${kept} until you close the page. ${next}`, ...this.#rescue())
  }
  /** Buttons that save the text from the page without the service. */
  #rescue(): ReadonlyArray<HTMLElement> {
    const { name, type } = this.#subject.file
    const text = () => Result.getOrElse(this.#content.checked(), () => this.#editor.typed())
    return [
      button("Copy the text", (pressed) => void copyText(pressed, text())),
      button("Download the text", () => saveFile(name, text(), type))
    ]
  }
}
