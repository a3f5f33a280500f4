import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { bracketMatching, syntaxHighlighting } from "@codemirror/language"
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search"
import { Compartment, EditorState, type Extension } from "@codemirror/state"
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view"
import { classHighlighter } from "@lezer/highlight"
import { button, copyText, element } from "./Dom.ts"
import type { Editor } from "./Editor.ts"
import { guessLanguage } from "./Guess.ts"
import { knownLanguage, loadLanguage } from "./Languages.ts"
import { styleNonce } from "./Nonce.ts"

export interface TextEditorOptions {
  readonly field: string
  /** The text with line feeds only. */
  readonly typed: string
  /** What the stored row says its language is. */
  readonly language: string | null
  readonly onChange: () => void
}

/** An editor for a text in any language, with a preview beside it where that is Markdown. */
export const textEditor = ({ field, language, onChange, typed }: TextEditorOptions): Editor => {
  const name = knownLanguage(language) ?? knownLanguage(guessLanguage(field, typed))
  const place = element("div", { class: "text-place" })
  const highlighting = new Compartment()
  let changed = () => onChange()
  const state = (doc: string): EditorState =>
    EditorState.create({
      doc,
      extensions: [
        EditorView.cspNonce.of(styleNonce()),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": `The text of ${field}`, spellcheck: "true", tabindex: "0" }),
        EditorView.updateListener.of(({ docChanged }) => docChanged && changed()),
        name === undefined || name === "markdown" ? [] : [lineNumbers(), bracketMatching()],
        highlightSpecialChars(),
        history(),
        drawSelection(),
        search({ top: true }),
        highlightSelectionMatches(),
        syntaxHighlighting(classHighlighter),
        highlighting.of([]),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap])
      ]
    })
  const view = new EditorView({ parent: place, state: state(typed) })
  const text = () => view.state.doc.toString()
  const highlight = (extension: Extension) => view.dispatch({ effects: highlighting.reconfigure(extension) })
  // Without its colours the text is as good to edit, so a language that does not load is no failure.
  if (name !== undefined) void loadLanguage(name).then(highlight, () => undefined)
  const copy = button("Copy", (pressed) => void copyText(pressed, text()), { class: "copy-all" })
  const bar = element(
    "div",
    { class: "mode-tabs" },
    element("span", { class: "muted small" }, name ?? "plain text"),
    copy
  )
  const root = element("div", { class: "text-editor" }, bar, place)
  if (name === "markdown") changed = withPreview(root, bar, text, onChange)
  return {
    root,
    typed: text,
    // One change, so that undoing brings back what stood here before.
    show: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    focus: () => view.focus(),
    commit: () => undefined
  }
}

/** Adds the preview and, for narrow screens, the buttons that switch to it. Returns what to do on each change. */
const withPreview = (root: HTMLElement, bar: HTMLElement, text: () => string, onChange: () => void): (() => void) => {
  const preview = element("div", { class: "preview", role: "region", "aria-label": "Preview", tabindex: "0" })
  const choose = (shown: "write" | "preview") => {
    root.dataset["shown"] = shown
    write.setAttribute("aria-pressed", String(shown === "write"))
    read.setAttribute("aria-pressed", String(shown === "preview"))
  }
  const write = button("Write", () => choose("write"))
  const read = button("Preview", () => choose("preview"))
  bar.prepend(element("span", { class: "switch", role: "group", "aria-label": "Show" }, write, read))
  root.append(preview)
  root.classList.add("with-preview")
  choose("write")
  let timer = 0
  const render = async () => {
    const { renderMarkdown } = await import("./Preview.ts")
    preview.innerHTML = renderMarkdown(text())
  }
  void render()
  return () => {
    onChange()
    clearTimeout(timer)
    timer = setTimeout(() => void render(), 120)
  }
}
