import { indented } from "../../../../domain/json/Indent.ts"
import { EditorView } from "@codemirror/view"
import {
  BooleanToggle,
  createJSONEditor,
  EditableValue,
  isTextContent,
  Mode,
  ReadonlyValue,
  type Content,
  type ContextMenuItem,
  type JSONEditorPropsOptional,
  type MenuItem,
  type RenderValueProps
} from "vanilla-jsoneditor"
import { scanObject } from "../../../../domain/json/Scan.ts"
import { button, element } from "./Dom.ts"
import type { Editor } from "./Editor.ts"
import { textJson, tree, treeJson } from "./EditorJson.ts"
import { hasUnorderedNames, memberCount } from "./JsonParts.ts"
import { styleNonce } from "./Nonce.ts"

// The tree makes elements for every field at once; with thousands of them the page would stand still.
const TREE_LIMIT = 1000

/** Why a validated, compact row can only be edited as text, or undefined. */
const textOnly = (row: string): string | undefined => {
  if (hasUnorderedNames(row)) {
    return "This row has field names like 1 or __proto__, which a tree would put in another order. It is edited as text."
  }
  const count = memberCount(row)
  if (count <= TREE_LIMIT) return undefined
  return `This row has ${count.toLocaleString("en")} fields, more than a tree shows well. It is edited as text.`
}

const offered = /jse-(?:expand-all|collapse-all|search|undo|redo|format|compact|contextmenu)/

const menu = (items: ReadonlyArray<MenuItem>): Array<MenuItem> =>
  items.filter((item) => item.type !== "button" || offered.test(item.className ?? ""))

/** Leaves out sorting and transforming, which compute with numbers and so could change their digits. */
const contextMenu = (given: ReadonlyArray<ContextMenuItem>): Array<ContextMenuItem> => {
  const kept = <A>(items: ReadonlyArray<A>): Array<A> =>
    items.flatMap((item) => {
      const { items, text } = item as { readonly items?: ReadonlyArray<unknown>; readonly text?: string }
      if (text === "Sort" || text === "Transform") return []
      return [items === undefined ? item : { ...item, items: kept(items) }]
    })
  return kept(given)
}

/** Shows each value as it is; the colour picker and the time tags of the library would fetch more code. */
const renderValue = (props: RenderValueProps) => [
  ...(typeof props.value === "boolean" && !props.readOnly ? [{ component: BooleanToggle, props }] : []),
  { component: props.isEditing && !props.readOnly ? EditableValue : ReadonlyValue, props }
]

/** A field of this name would be lost without a trace, because objects take it for their prototype. */
const touchesPrototype = (operations: ReadonlyArray<{ readonly path: string }> | undefined): boolean =>
  operations?.some(({ path }) => path.split("/").includes("__proto__")) ?? false

/** An editor for a row's own fields, as a tree, as text or, for arrays of objects, as a table. */
export const rowEditor = (typed: string, onChange: () => void, onRefused: (why: string) => void): Editor => {
  const place = element("div", { class: "json-editor" })
  const hint = element("p", { class: "muted small mode-hint" })
  let mode = Mode.tree
  let content: Content = { text: typed } as Content
  let opened = content
  // What the editor was opened with, which it spells in its own way; undefined once something was changed.
  let source: string | undefined
  let editor: ReturnType<typeof createJSONEditor> | undefined

  const current = (): string => {
    const view = EditorView.findFromDOM(place)
    // The library tells of typed text only after a pause, but saving must not wait for it.
    if (mode === Mode.text && view !== null) {
      const text = view.state.doc.toString()
      return source !== undefined && isTextContent(opened) && text === opened.text ? source : text
    }
    return source ?? (isTextContent(content) ? content.text : treeJson.stringify(content.json))
  }

  const open = (next: Mode, text: string): void => {
    const scanned = scanObject(text)
    const reason = scanned.issue === undefined ? textOnly(scanned.value.text) : undefined
    mode = scanned.issue !== undefined || reason !== undefined ? Mode.text : next
    hint.textContent = reason ?? ""
    if (scanned.issue !== undefined) content = { text }
    else content = mode === Mode.text ? { text: indented(scanned.value.text) } : { json: tree(scanned.value) }
    for (const [name, tab] of tabs) {
      tab.setAttribute("aria-pressed", String(name === mode))
      tab.disabled = reason !== undefined && name !== Mode.text
    }
    opened = content
    source = text
    void editor?.destroy()
    place.replaceChildren()
    editor = createJSONEditor({ target: place, props: props(content) })
    // Only what has a tab index counts as reachable by keyboard for some tools, though editable content is as well.
    place.querySelector(".cm-content")?.setAttribute("tabindex", "0")
  }

  const props = (shown: Content): JSONEditorPropsOptional => ({
    mode,
    content: shown,
    parser: mode === Mode.text ? textJson : treeJson,
    validationParser: mode === Mode.text ? textJson : treeJson,
    queryLanguages: [],
    // The editor takes Tab for itself.
    ariaLabel: "The row's fields as JSON. In text mode, press Escape and then Tab to leave the editor.",
    askToFormat: false,
    navigationBar: false,
    statusBar: false,
    onRenderMenu: menu,
    onRenderContextMenu: contextMenu,
    onRenderValue: renderValue,
    onChangeMode: change,
    onChange: (next, previous, { patchResult }) => {
      // An editor that was replaced may tell of its last change late.
      if (shown !== opened) return
      if (touchesPrototype(patchResult?.redo)) {
        void editor?.set(previous)
        return onRefused("A field can only be named __proto__ in text mode.")
      }
      content = next
      source = undefined
      onChange()
    }
  })

  const change = (next: Mode): void => {
    const scanned = scanObject(current())
    if (next !== Mode.text && scanned.issue !== undefined) {
      return onRefused("Correct the JSON before you leave text mode. " + scanned.issue.message)
    }
    open(next, current())
  }

  const tabs = new Map(
    (
      [
        [Mode.tree, "Tree"],
        [Mode.text, "Text"],
        [Mode.table, "Table"]
      ] as const
    ).map(([name, label]) => [name, button(label, () => change(name))] as const)
  )
  const root = element(
    "div",
    { class: "row-editor" },
    element("div", { class: "mode-tabs", role: "group", "aria-label": "Show the row as" }, ...tabs.values()),
    hint,
    place
  )
  allowStyles()
  open(mode, typed)
  return {
    root,
    typed: current,
    show: (text) => open(mode, text),
    focus: () => void editor?.focus(),
    commit: () => {
      const open = document.activeElement
      if (open instanceof HTMLElement && place.contains(open) && open.matches(".jse-editable-div")) open.blur()
    }
  }
}

/** The first editor of a page decides whether the style element that all of them share carries the nonce. */
const allowStyles = (): void => new EditorView({ extensions: EditorView.cspNonce.of(styleNonce()) }).destroy()
