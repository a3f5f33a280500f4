import type { Answer } from "./Client.ts"
import { dateAndTime } from "./Clock.ts"
import { differences } from "./Differences.ts"
import { button, element } from "./Dom.ts"
import type { Version } from "./LinkData.ts"
import { valueView } from "./Values.ts"

export interface HistoryInput {
  readonly kind: "row" | "text"
  readonly load: () => Promise<Answer<{ readonly versions: ReadonlyArray<Version> }>>
  readonly ofVersion: (version: Version) => string | undefined
  /** What is stored, which the newest version is compared with. */
  readonly stored: () => string
  /** Why nothing can be restored at the moment, or undefined. */
  readonly refusal: () => string | undefined
  readonly onRestore: (version: Version) => void
  readonly explain: (answer: Exclude<Answer<unknown>, { readonly kind: "ok" }>) => string
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
  if (found.length === 0) return element("p", { class: "muted" }, "The next version holds the same.")
  return element(
    "dl",
    { class: "changes" },
    ...found.flatMap(({ after, before, name }) => [
      ...(name === "" ? [] : [element("dt", {}, shortened(name))]),
      element("dd", { class: "old" }, element("span", { class: "sign" }, "Was"), valueView(before, "not there")),
      element("dd", { class: "new" }, element("span", { class: "sign" }, "Became"), valueView(after, "removed"))
    ])
  )
}

/** Opens the archived versions, newest first, each with what changed in the one after it. */
export const openHistory = async (input: HistoryInput): Promise<void> => {
  const list = element("div", { class: "versions" }, element("p", { class: "muted" }, "Loading the history…"))
  const close = button("Close", () => dialog.close())
  const title = element("h2", { id: "history-title", tabindex: "-1" }, "History")
  const dialog = element("dialog", { class: "history-dialog", "aria-labelledby": "history-title" })
  dialog.append(element("div", { class: "history-head" }, title, close), list)
  dialog.addEventListener("close", () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  title.focus()
  const answer = await input.load()
  if (answer.kind !== "ok") {
    list.replaceChildren(element("p", { role: "alert", class: "danger" }, input.explain(answer)))
    return
  }
  const { versions } = answer.value
  const refusal = input.refusal()
  let next = input.stored()
  const entries = versions.flatMap((version) => {
    const content = input.ofVersion(version)
    if (content === undefined) return []
    const restore = button("Restore this version", () => {
      dialog.close()
      input.onRestore(version)
    })
    restore.disabled = refusal !== undefined
    const time = element("time", { datetime: version.archived_at }, dateAndTime(version.archived_at))
    const what = `${operations[version.operation] ?? version.operation} ${author(version.changed_by)}`
    const entry = element("li", {}, element("h3", {}, time), element("p", { class: "muted" }, what))
    entry.append(changes(input.kind, content, next), restore)
    next = content
    return [entry]
  })
  const none = "No earlier version is kept: this row has not been changed, or only long ago."
  list.replaceChildren(
    ...(refusal === undefined ? [] : [element("p", { class: "warning" }, refusal)]),
    entries.length === 0 ? element("p", {}, none) : element("ol", {}, ...entries)
  )
}
