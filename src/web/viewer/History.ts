import type { Subject } from "./Content.ts"
import { button, element, valueView } from "./Dom.ts"
import * as client from "./LinkClient.ts"
import type { EditableLink, Failure, Version } from "./LinkClient.ts"
import { differences } from "../../domain/RowMerge.ts"
import type { Notice } from "./SaveBar.ts"
import { dateAndTime } from "./ViewerHeader.ts"

/** What restoring needs of the page that it changes. */
interface Present {
  readonly kind: EditableLink["kind"]
  readonly subject: Subject
  readonly notice: Notice
  readonly stored: () => string
  /** Why nothing can be restored right now, or undefined. */
  readonly refusal: () => string | undefined
  readonly show: (restored: EditableLink) => void
  readonly failed: (failure: Failure) => void
}

/** The versions before the stored one: showing them, and restoring one. */
export class History {
  readonly #present: Present

  constructor(present: Present) {
    this.#present = present
  }

  open(): Promise<void> {
    return openHistory(this.#present, (version) => void this.#restore(version, "Restored."))
  }

  /** Restores the content that a change replaced, unless it was changed again since. */
  async undo(replaced: string): Promise<void> {
    const { notice, subject } = this.#present
    const loaded = await client.versions()
    if (loaded.kind !== "ok") return notice.say("danger", "Nothing was undone. " + client.explain(loaded))
    const newest = loaded.value.versions[0]
    if (newest === undefined || subject.ofVersion(newest) !== replaced) {
      return notice.say("warning", "The row has changed again since then. See History.")
    }
    await this.#restore(newest, "Undone.")
  }

  async #restore(version: Version, said: string): Promise<void> {
    const { failed, notice, refusal, show, stored } = this.#present
    const why = refusal()
    if (why !== undefined) return notice.say("warning", why)
    const replaced = stored()
    const restored = await client.restore(version.version)
    if (restored.kind !== "ok") return failed(restored)
    show(restored.value)
    notice.say(
      "good",
      said,
      button("Undo", () => void this.undo(replaced))
    )
  }
}

const operations: Readonly<Record<string, string>> = {
  update: "Replaced by an update",
  delete: "Deleted",
  restore: "Replaced by restoring an older version"
}

const kinds: Readonly<Record<string, string>> = { key: "API key", mcp: "MCP client", link: "link" }

const author = ({ kind, name }: Version["changed_by"]): string =>
  name === "" || kind === "link" ? `through a ${kinds[kind] ?? kind}` : `by the ${kinds[kind] ?? kind} “${name}”`

const shortened = (name: string): string => (name.length > 80 ? name.slice(0, 80) + "…" : name)

const changes = (kind: "row" | "text", before: string, after: string): HTMLElement => {
  const found =
    kind === "row"
      ? differences(before, after)
      : before === after
        ? []
        : [{ name: "", before: JSON.stringify(before), after: JSON.stringify(after) }]
  if (found.length === 0) return element("p", { class: "muted" }, "The next version is the same.")
  return element(
    "dl",
    { class: "changes" },
    ...found.flatMap(({ after, before, name }) => [
      ...(name === "" ? [] : [element("dt", {}, shortened(name))]),
      element("dd", { class: "old" }, element("span", { class: "sign" }, "Was"), valueView(before, "did not exist")),
      element("dd", { class: "new" }, element("span", { class: "sign" }, "Became"), valueView(after, "removed"))
    ])
  )
}

/** Opens the archived versions, newest first, each with what changed in the one after it. */
const openHistory = async (present: Present, onRestore: (version: Version) => void): Promise<void> => {
  const { kind, refusal, stored, subject } = present
  const list = element("div", { class: "versions" }, element("p", { class: "muted" }, "Loading the history…"))
  const close = button("Close", () => dialog.close())
  const title = element("h2", { id: "history-title", tabindex: "-1" }, "History")
  const dialog = element("dialog", { class: "history-dialog", "aria-labelledby": "history-title" })
  dialog.append(element("div", { class: "history-head" }, title, close), list)
  dialog.addEventListener("close", () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  title.focus()
  const loaded = await client.versions()
  if (loaded.kind !== "ok") {
    list.replaceChildren(element("p", { role: "alert", class: "danger" }, client.explain(loaded)))
    return
  }
  const { versions } = loaded.value
  const refused = refusal()
  let next = stored()
  const entries = versions.flatMap((version) => {
    const content = subject.ofVersion(version)
    if (content === undefined) return []
    const restore = button("Restore this version", () => {
      dialog.close()
      onRestore(version)
    })
    restore.disabled = refused !== undefined
    const time = element("time", { datetime: version.archived_at }, dateAndTime(version.archived_at))
    const what = `${operations[version.operation] ?? version.operation} ${author(version.changed_by)}`
    const entry = element("li", {}, element("h3", {}, time), element("p", { class: "muted" }, what))
    entry.append(changes(kind, content, next), restore)
    next = content
    return [entry]
  })
  const none = "No earlier versions: this row was never changed, or its old versions were deleted."
  list.replaceChildren(
    ...(refused === undefined ? [] : [element("p", { class: "warning" }, refused)]),
    entries.length === 0 ? element("p", {}, none) : element("ol", {}, ...entries)
  )
}
