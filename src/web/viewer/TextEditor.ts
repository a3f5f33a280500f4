import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { bracketMatching, syntaxHighlighting } from "@codemirror/language"
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search"
import { Compartment, EditorState, type Extension } from "@codemirror/state"
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view"
import { classHighlighter } from "@lezer/highlight"
import { button, copyText, element, styleNonce } from "./Dom.ts"
import type { Editor } from "./Editing.ts"
import { guessLanguage, knownLanguage, loadLanguage } from "./Highlighting.ts"

interface CodeEditorOptions {
  /** What the text is, for screen readers. */
  readonly label: string
  readonly typed: string
  /** As {@link knownLanguage} names it; undefined for plain text. */
  readonly language: string | undefined
  readonly onChange: () => void
}

/** Makes CodeMirror in a place. The text has line feeds only. */
export const codeEditor = (place: HTMLElement, { label, language, onChange, typed }: CodeEditorOptions) => {
  const isProse = language === undefined || language === "markdown"
  const highlighting = new Compartment()
  const view = new EditorView({
    parent: place,
    state: EditorState.create({
      doc: typed,
      extensions: [
        EditorView.cspNonce.of(styleNonce()),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: String(isProse), tabindex: "0" }),
        EditorView.updateListener.of(({ docChanged }) => docChanged && onChange()),
        isProse ? [] : [lineNumbers(), bracketMatching()],
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
  })
  const highlight = (extension: Extension) => view.dispatch({ effects: highlighting.reconfigure(extension) })
  // The text can be edited without colours, so a language that doesn't load is no failure.
  if (language !== undefined) void loadLanguage(language).then(highlight, () => undefined)
  return {
    typed: () => view.state.doc.toString(),
    // One change, so that undoing brings back the text before it.
    show: (next: string) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    focus: () => view.focus()
  }
}

export interface TextEditorOptions {
  readonly field: string
  /** The text with line feeds only. */
  readonly typed: string
  /** The language that the stored row names. */
  readonly language: string | null
  readonly onChange: () => void
}

/** An editor for a text in any language, with a preview beside it where that is Markdown. */
export const textEditor = ({ field, language, onChange, typed }: TextEditorOptions): Editor => {
  const name = knownLanguage(language) ?? knownLanguage(guessLanguage(field, typed))
  const place = element("div", { class: "text-place" })
  let changed = onChange
  const code = codeEditor(place, {
    label: `The text of ${field}`,
    typed,
    language: name,
    onChange: () => changed()
  })
  const copy = button("Copy", (pressed) => void copyText(pressed, code.typed()), { class: "copy-all" })
  const kind = element("span", { class: "muted small" }, name ?? "plain text")
  const bar = element("div", { class: "mode-tabs" }, kind, copy)
  const root = element("div", { class: "text-editor" }, bar, place)
  if (name === "markdown") changed = withPreview(root, bar, code.typed, onChange)
  return { root, ...code }
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
  bar.prepend(element("span", { class: "preview-switch", role: "group", "aria-label": "Show" }, write, read))
  root.append(preview)
  root.classList.add("with-preview")
  choose("write")
  let timer = 0
  const render = async () => {
    const { renderMarkdown } = await import("./MarkdownPreview.ts")
    preview.innerHTML = renderMarkdown(text())
  }
  void render()
  return () => {
    onChange()
    clearTimeout(timer)
    timer = setTimeout(() => void render(), 120)
  }
}
