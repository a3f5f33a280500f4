import { Result } from "effect"
import * as client from "./Client.ts"
import type { Failure } from "./Client.ts"
import { ServerClock } from "./Clock.ts"
import { conflictView } from "./Conflict.ts"
import { button, element } from "./Dom.ts"
import { Drafts } from "./Drafts.ts"
import type { Editor } from "./Editor.ts"
import { explain } from "./Explain.ts"
import { header, type Header } from "./Header.ts"
import type { EditableLink } from "./LinkData.ts"
import { Notice } from "./Notice.ts"
import { Past } from "./Past.ts"
import { rescue } from "./Rescue.ts"
import { SaveBar } from "./SaveBar.ts"
import { subjectOf, type Subject } from "./Subject.ts"
import { systemFieldList } from "./SystemFieldList.ts"

/** Makes the editor of a subject; `onRefused` says why something cannot be done there. */
export type OpenEditor = (typed: string, onChange: () => void, onRefused: (why: string) => void) => Editor

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
  readonly #header: Header
  readonly #past: Past
  readonly #body = element("div", { class: "viewer-body" })
  #data: EditableLink
  /** What the next save is based on, and since when it was stored. */
  #stored: string
  #updatedAt: string
  /** What the editor held when it last showed what is stored. */
  #shown: string
  #busy = false
  #ended = false
  #deciding = false
  #waitUntil = 0

  constructor(root: HTMLElement, data: EditableLink, open: OpenEditor) {
    this.#root = root
    this.#data = data
    this.#subject = subjectOf(data)
    this.#stored = this.#subject.content(data)
    this.#updatedAt = this.#subject.updatedAt(data)
    this.#drafts = new Drafts(data.kind, data.table, data.id, data.kind === "text" ? data.field : "")
    this.#editor = open(
      this.#subject.typed(this.#stored),
      () => this.#changed(),
      (why) => this.#notice.say("warning", why)
    )
    this.#shown = this.#editor.typed()
    this.#past = new Past({
      kind: data.kind,
      subject: this.#subject,
      notice: this.#notice,
      stored: () => this.#stored,
      refusal: () => this.#refusal(),
      show: (restored) => {
        if (!this.#dirty()) return this.#show(restored)
        // Typing went on while the restore was on its way.
        this.#adopt(restored)
        this.#changed()
      },
      failed: (failure) => this.#failed(failure, this.#stored)
    })
    const history = button("History", () => void this.#past.open())
    this.#header = header(data, new ServerClock(data.server_time), [history], () => this.#end("This link is over."))
  }

  /** Shows the page and begins to listen and to count down. */
  start(): void {
    this.#render()
    this.#recall()
    // Before the editors, which keep keys to themselves.
    addEventListener("keydown", (event) => this.#pressed(event), { capture: true })
    addEventListener("beforeunload", (event) => {
      this.#editor.commit()
      if (this.#dirty()) event.preventDefault()
    })
    this.#header.start()
  }

  #render(): void {
    this.#body.replaceChildren(systemFieldList(this.#data), this.#editor.root)
    this.#root.replaceChildren(this.#header.root, this.#notice.root, this.#body, this.#bar.root)
  }

  #pressed(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s") return
    event.preventDefault()
    this.#editor.commit()
    if (this.#dirty() && !this.#deciding) void this.#save()
  }

  /** Brings back what was typed before a reload. */
  #recall(): void {
    const draft = this.#drafts.read()
    if (draft === undefined) return
    // It was saved, and only the answer was lost.
    const saved = this.#subject.check(draft.typed, draft.stored)
    if (Result.isSuccess(saved) && saved.success === this.#stored) return this.#drafts.drop()
    this.#editor.show(draft.typed)
    this.#notice.say("note", "Your unsaved changes are back.")
    if (draft.updatedAt !== this.#updatedAt) {
      const mine = this.#subject.check(draft.typed, draft.stored)
      if (Result.isSuccess(mine)) return this.#decide(draft.stored, mine.success)
      // Once the text can be saved, saving it finds the conflict.
      this.#stored = draft.stored
      this.#updatedAt = draft.updatedAt
    }
    this.#changed()
  }

  #checked(): Result.Result<string, string> {
    return this.#subject.check(this.#editor.typed(), this.#stored)
  }

  #dirty(): boolean {
    if (this.#editor.typed() === this.#shown) return false
    const checked = this.#checked()
    return Result.isFailure(checked) || checked.success !== this.#stored
  }

  #changed(): void {
    // While there is a conflict, the draft stays with what it was typed over.
    if (this.#deciding) return
    if (!this.#dirty()) {
      this.#drafts.drop()
      this.#bar.hide()
      return
    }
    this.#keepDraft()
    // "Saved." would be read as told of what was typed since.
    this.#notice.clearGood()
    this.#updateBar()
  }

  #keepDraft(): void {
    this.#drafts.keep({ updatedAt: this.#updatedAt, stored: this.#stored, typed: this.#editor.typed() })
  }

  #updateBar(): void {
    if (this.#deciding || !this.#dirty()) return this.#bar.hide()
    const checked = this.#checked()
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
    const checked = this.#checked()
    if (this.#busy || this.#ended || performance.now() < this.#waitUntil) return
    if (Result.isFailure(checked)) return this.#notice.say("danger", checked.failure)
    await this.#send(checked.success)
  }

  async #send(content: string): Promise<void> {
    const stored = this.#stored
    this.#setBusy(true)
    const answer = await client.save(this.#subject.body(this.#updatedAt, stored, content))
    this.#setBusy(false)
    if (answer.kind !== "ok") return this.#failed(answer, content)
    this.#saved(answer.value, stored)
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
    this.#data = data
    this.#stored = this.#subject.content(data)
    this.#updatedAt = this.#subject.updatedAt(data)
    this.#shown = this.#subject.typed(this.#stored)
    this.#body.firstElementChild?.replaceWith(systemFieldList(data))
  }

  /** Takes a newer state and shows it. */
  #show(data: EditableLink): void {
    this.#adopt(data)
    this.#editor.show(this.#subject.typed(this.#stored))
    this.#shown = this.#editor.typed()
    this.#changed()
  }

  #failed(failure: Failure, content: string): void {
    switch (failure.kind) {
      case "conflict": {
        const base = this.#stored
        // An earlier try arrived, and only its answer was lost.
        if (this.#subject.content(failure.current) === content) return this.#saved(failure.current, base)
        this.#keepDraft()
        this.#adopt(failure.current)
        // The row changed in places that this page does not show.
        if (this.#stored === base) return void this.#send(content)
        // Typing goes on while a save is on its way.
        const mine = this.#subject.check(this.#editor.typed(), base)
        return this.#decide(
          base,
          Result.getOrElse(mine, () => content)
        )
      }
      case "over":
        return this.#end(explain(failure))
      case "wait":
        this.#wait(failure.seconds)
        return this.#notice.say("danger", "Nothing was saved. " + explain(failure) + " Your text is kept.")
      case "unreachable": {
        const retry = button("Try again", () => void this.#save())
        return this.#notice.say("danger", explain(failure) + " Until then your text is kept here, not saved.", retry)
      }
      case "refused":
        return this.#notice.say("danger", `Nothing was saved. ${explain(failure)} Your text is kept.`)
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
      kind: this.#data.kind,
      base,
      mine,
      theirs: this.#stored,
      onDecided: (content) => {
        done()
        this.#editor.show(this.#subject.typed(content))
        this.#changed()
        if (content === this.#stored) return this.#notice.say("good", "That is what is stored already.")
        void this.#send(content)
      },
      onKeepTheirs: () => {
        done()
        this.#show(this.#data)
        const back = button("Bring mine back", () => {
          this.#editor.show(this.#subject.typed(mine))
          this.#changed()
          this.#notice.clear()
        })
        this.#notice.say("note", "Theirs is kept.", back)
      }
    })
    this.#root.replaceChildren(this.#header.root, this.#notice.root, view, this.#bar.root)
    this.#bar.hide()
    view.querySelector("h2")?.focus()
  }

  #discard(): void {
    const typed = this.#editor.typed()
    this.#show(this.#data)
    const back = button("Bring them back", () => {
      this.#editor.show(typed)
      this.#changed()
      this.#notice.clear()
    })
    this.#notice.say("note", "Your changes are gone.", back)
    this.#editor.focus()
  }

  #refusal(): string | undefined {
    if (this.#ended) return "This link is over, so nothing can be restored through it."
    return this.#dirty() ? "Save or discard your changes first, then restore." : undefined
  }

  #end(why: string): void {
    this.#ended = true
    this.#header.end()
    this.#updateBar()
    const kept = this.#dirty() ? "Your unsaved text stays here" : "The text stays here"
    const next = "To save, ask the agent for a new link and open it in this tab."
    const text = () => Result.getOrElse(this.#checked(), () => this.#editor.typed())
    this.#notice.say("warning", `${why} ${kept} until you close the page. ${next}`, ...rescue(text, this.#subject.file))
  }
}
