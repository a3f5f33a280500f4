import { print } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { indented } from "../../domain/json/Members.ts"
import { scanObject } from "../../domain/json/ParseEnvelope.ts"
import { button, element } from "./Dom.ts"
import type { Editor } from "./Editing.ts"
import { withLineFeeds, withStoredEndings } from "../../domain/LineEndings.ts"
import { memberCount } from "./RowText.ts"
import { readNode, writeNode, type Container, type Entry, type JsonNode } from "../../domain/json/JsonNode.ts"
import { codeEditor } from "./TextEditor.ts"

// The tree makes elements for every field at once; with thousands of them the page would freeze.
const TREE_LIMIT = 1000

type Mode = "tree" | "text"

/** An editor for a row's own fields, as a tree or as text. What was not edited keeps its spelling. */
export const rowEditor = (typed: string, onChange: () => void, onRefused: () => void): Editor => {
  const place = element("div", { class: "row-place" })
  const hint = element("p", { class: "muted small mode-hint" })
  let shown: Pick<Editor, "typed" | "focus">
  let current = () => typed
  let mode: Mode = "tree"

  const open = (wanted: Mode, text: string): void => {
    const scanned = scanObject(text)
    const compact = scanned.issue === undefined ? scanned.value.text : undefined
    const count = compact === undefined ? 0 : memberCount(compact)
    const isLarge = count > TREE_LIMIT
    mode = compact === undefined || isLarge ? "text" : wanted
    hint.textContent = isLarge
      ? `This row has ${count.toLocaleString("en")} fields, too many for the tree. Edit it as text.`
      : ""
    for (const [name, tab] of tabs) {
      tab.setAttribute("aria-pressed", String(name === mode))
      tab.disabled = isLarge && name === "tree"
    }
    if (mode === "tree") {
      const tree = new RowTree(compact ?? "{}", onChange)
      place.replaceChildren(tree.root)
      shown = tree
    } else {
      place.replaceChildren()
      const label = "The row's fields as JSON"
      shown = codeEditor(place, {
        label,
        language: "json",
        typed: compact === undefined ? text : indented(compact),
        onChange
      })
    }
    const opened = shown.typed()
    current = () => {
      const now = shown.typed()
      return now === opened ? text : now
    }
  }

  const change = (next: Mode): void => {
    if (next === "tree" && scanObject(current()).issue !== undefined) return onRefused()
    open(next, current())
  }

  const tabs = new Map<Mode, HTMLButtonElement>([
    ["tree", button("Tree", () => change("tree"))],
    ["text", button("Text", () => change("text"))]
  ])
  const bar = element("div", { class: "mode-tabs", role: "group", "aria-label": "Show the row as" }, ...tabs.values())
  const root = element("div", { class: "row-editor" }, bar, hint, place)
  open(mode, typed)
  return { root, typed: () => current(), show: (text) => open(mode, text), focus: () => shown.focus() }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const emptyValues = { text: '""', number: "0", true: "true", false: "false", null: "null", object: "{}", list: "[]" }

type Type = keyof typeof emptyValues

const typeOf = (text: string): Type =>
  text.startsWith('"') ? "text" : text === "true" || text === "false" || text === "null" ? text : "number"

/** What a scalar is shown and edited as: the characters of a string, the JSON of everything else. */
const charactersOf = (text: string): string => (text.startsWith('"') ? decodeString(text) : text)

const shortened = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}…` : text)

/** A row's fields as a tree, in which values, names and types can be changed, and fields added and removed. */
class RowTree {
  readonly root = element("div", { class: "row-tree" })
  readonly #onChange: () => void
  #node: JsonNode
  #past: ReadonlyArray<string> = []
  #future: ReadonlyArray<string> = []
  #session: object | undefined

  constructor(text: string, onChange: () => void) {
    this.#onChange = onChange
    this.#node = readNode(text)
    this.root.addEventListener("keydown", (event) => this.#pressed(event))
    this.#draw()
  }

  /** The row as compact JSON; invalid while a number that is being typed is. */
  typed(): string {
    return writeNode(this.#node)
  }

  focus(): void {
    this.root.querySelector<HTMLElement>("button")?.focus()
  }

  #draw(): void {
    if ("kind" in this.#node) this.root.replaceChildren(this.#entries(this.#node))
  }

  #pressed(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || !(event.target instanceof HTMLButtonElement)) return
    const key = event.key.toLowerCase()
    const isRedo = key === "y" || (key === "z" && event.shiftKey)
    if (key !== "z" && !isRedo) return
    event.preventDefault()
    const [from, to] = isRedo ? [this.#future, this.#past] : [this.#past, this.#future]
    const text = from.at(-1)
    if (text === undefined) return
    const now = [...to, this.typed()]
    ;[this.#past, this.#future] = isRedo ? [now, from.slice(0, -1)] : [from.slice(0, -1), now]
    this.#node = readNode(text)
    this.#draw()
    this.focus()
    this.#onChange()
  }

  /** Makes a change that can be undone; those of one session are undone together. */
  #change(change: () => void, session: object = {}): void {
    const before = this.typed()
    change()
    if (this.typed() === before) return
    if (session !== this.#session) this.#past = [...this.#past.slice(-99), before]
    this.#session = session
    this.#future = []
    this.#onChange()
  }

  #entries(container: Container): HTMLElement {
    const list = element("ul", {}, ...container.entries.map((entry) => this.#entry(container, entry)))
    const isObject = container.kind === "object"
    const add = button(isObject ? "Add field" : "Add item", () => {
      const entry: Entry = { rawName: isObject ? print(freeName(container)) : undefined, node: { text: '""' } }
      this.#change(() => void container.entries.push(entry))
      const item = this.#entry(container, entry)
      list.append(item)
      item.querySelector<HTMLElement>(isObject ? ".row-tree-name" : ".row-tree-value")?.click()
    })
    return element("div", { class: "row-tree-entries" }, list, add)
  }

  #entry(container: Container, entry: Entry): HTMLElement {
    const item = element("li")
    const draw = () => {
      const { node, rawName } = entry
      const line = element("div", { class: "row-tree-line" })
      const name = rawName === undefined ? `item ${container.entries.indexOf(entry) + 1}` : nameOf(entry)
      if (rawName !== undefined) {
        const rename = button(name === "" ? "(no name)" : name, () => this.#rename(container, entry, rename, draw), {
          class: "row-tree-name",
          title: "Rename"
        })
        line.append(rename)
      }
      const remove = button("Remove", () => {
        this.#change(() => void container.entries.splice(container.entries.indexOf(entry), 1))
        const next = item.nextElementSibling ?? item.previousElementSibling ?? item.parentElement?.nextElementSibling
        item.remove()
        ;(next instanceof HTMLButtonElement ? next : next?.querySelector("button"))?.focus()
      })
      remove.classList.add("row-tree-remove")
      remove.setAttribute("aria-label", `Remove ${name}`)
      if ("kind" in node) {
        const toggle = button(summaryOf(node), () => {
          node.isOpen = !node.isOpen
          draw()
          item.querySelector<HTMLElement>(".row-tree-toggle")?.focus()
        })
        toggle.classList.add("row-tree-toggle")
        toggle.setAttribute("aria-expanded", String(node.isOpen))
        line.append(toggle, remove)
        item.replaceChildren(line, ...(node.isOpen ? [this.#entries(node)] : []))
        return
      }
      const value = button(shortened(charactersOf(node.text)), () => this.#edit(entry, name, value, draw), {
        class: `row-tree-value row-tree-${typeOf(node.text)}`,
        title: "Edit"
      })
      line.append(value, remove)
      item.replaceChildren(line)
    }
    draw()
    return item
  }

  #rename(container: Container, entry: Entry, shown: HTMLElement, draw: () => void): void {
    const session = {}
    const input = element("input", { class: "row-tree-rename", "aria-label": "Field name", spellcheck: "false" })
    input.value = nameOf(entry)
    const before = input.value
    const others = new Set(container.entries.filter((other) => other !== entry).map(nameOf))
    input.addEventListener("input", () => {
      const isTaken = others.has(input.value)
      input.setCustomValidity(isTaken ? "Another field has this name." : "")
      if (input.reportValidity()) this.#change(() => (entry.rawName = print(input.value)), session)
    })
    closing(input, input, (isByKey) => {
      const item = input.closest("li")
      draw()
      // The value of a field with a new name is next.
      const next = input.value === before ? ".row-tree-name" : ".row-tree-value"
      if (isByKey) item?.querySelector<HTMLElement>(next)?.focus()
    })
    shown.replaceWith(input)
    input.select()
  }

  /** Puts a field and a type picker in the place of a value. What is typed counts at once. */
  #edit(entry: Entry, name: string, shown: HTMLElement, draw: () => void): void {
    const session = {}
    const original = "text" in entry.node ? entry.node.text : "null"
    const characters = charactersOf(original)
    const isLong = original.startsWith('"') && (characters.length > 60 || /[\r\n]/.test(characters))
    const input = element(isLong ? "textarea" : "input", { "aria-label": `Value of ${name}`, spellcheck: "false" })
    input.value = isLong ? withLineFeeds(characters) : characters
    const unchanged = input.value
    const options = Object.keys(emptyValues).map((type) => element("option", { value: type }, type))
    const picker = element("select", { "aria-label": `Type of ${name}` }, ...options)
    picker.value = typeOf(original)
    const isTyped = () => picker.value === "text" || picker.value === "number"
    const textOf = (): string => {
      if (!isTyped()) return emptyValues[picker.value as Type]
      if (picker.value === "number") return input.value.trim()
      const isUnchanged = input.value === unchanged && original.startsWith('"')
      return isUnchanged ? original : print(withStoredEndings(characters, input.value))
    }
    const update = () => {
      input.hidden = !isTyped()
      const text = textOf()
      input.setCustomValidity(picker.value === "number" && !NUMBER.test(text) ? "Not a JSON number" : "")
      this.#change(() => (entry.node = readNode(text)), session)
    }
    picker.addEventListener("change", () => {
      if (picker.value === "number" && !NUMBER.test(input.value.trim())) input.value = emptyValues.number
      update()
      if ("kind" in entry.node) draw()
    })
    input.hidden = !isTyped()
    input.addEventListener("input", update)
    const edit = element("span", { class: "row-tree-edit" }, input, picker)
    closing(edit, input, (isByKey) => {
      const item = edit.closest("li")
      draw()
      if (isByKey) item?.querySelector<HTMLElement>(".row-tree-value")?.focus()
    })
    shown.replaceWith(edit)
    if (input.hidden) picker.focus()
    else input.select()
  }
}

type Input = HTMLInputElement | HTMLTextAreaElement

/** Closes what is being edited on Enter or Escape, and when the focus has left it; not while it is invalid. */
const closing = (edit: HTMLElement, input: Input, close: (isByKey: boolean) => void): void => {
  edit.addEventListener("keydown", (event) => {
    const isEnd = event.key === "Escape" || (event.key === "Enter" && !(event.target instanceof HTMLTextAreaElement))
    if (!isEnd) return
    event.preventDefault()
    if (input.reportValidity()) close(true)
  })
  edit.addEventListener("focusout", () => {
    // Closing moves what is below, which the pointer may be about to press.
    setTimeout(() => {
      if (edit.isConnected && !edit.contains(document.activeElement) && input.checkValidity()) close(false)
    }, 200)
  })
}

const nameOf = ({ rawName }: Entry): string => decodeString(rawName ?? '""')

const freeName = ({ entries }: Container): string => {
  const names = new Set(entries.map(nameOf))
  for (let i = 1; ; i++) {
    const name = i === 1 ? "field" : `field_${i}`
    if (!names.has(name)) return name
  }
}

const summaryOf = ({ entries: { length }, kind }: Container): string =>
  kind === "object"
    ? `{ ${length} ${length === 1 ? "field" : "fields"} }`
    : `[ ${length} ${length === 1 ? "item" : "items"} ]`
