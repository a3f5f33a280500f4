import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { bracketMatching, syntaxHighlighting } from "@codemirror/language"
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search"
import { Compartment, EditorState, type Extension } from "@codemirror/state"
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view"
import { classHighlighter } from "@lezer/highlight"
import { button, copyText, element, styleNonce } from "../Dom.ts"
import { guessLanguage, knownLanguage, loadLanguage } from "./Highlighting.ts"

/** Makes CodeMirror in a place, for what is in a text area; the text area has what is typed. */
const codeEditor = (place: HTMLElement, area: HTMLTextAreaElement, language: string | undefined) => {
  const isProse = language === undefined || language === "markdown"
  const highlighting = new Compartment()
  const label = area.labels[0]?.textContent ?? ""
  const view = new EditorView({
    parent: place,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        EditorView.cspNonce.of(styleNonce()),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: String(isProse), tabindex: "0" }),
        EditorView.updateListener.of(({ docChanged }) => {
          if (!docChanged) return
          area.value = view.state.doc.toString()
          area.dispatchEvent(new Event("input", { bubbles: true }))
        }),
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
}

/** Puts an editor in the place of a text area, with a preview beside it where the text is Markdown. */
export const editing = (area: HTMLTextAreaElement): void => {
  const { editor, field = "" } = area.dataset
  const language = knownLanguage(editor) ?? knownLanguage(guessLanguage(field, area.value))
  const place = element("div", { class: "text-place" })
  const copy = button("Copy", (pressed) => void copyText(pressed, area.value), { class: "copy-all" })
  const kind = element("span", { class: "muted small" }, language ?? "plain text")
  const bar = element("div", { class: "editor-bar" }, kind, copy)
  const root = element("div", { class: "text-editor" }, bar, place)
  area.before(root)
  area.hidden = true
  codeEditor(place, area, language)
  if (language === "markdown") addPreview(root, bar, area)
}

/** Adds the preview and, for narrow screens, the buttons that switch to it. */
const addPreview = (root: HTMLElement, bar: HTMLElement, area: HTMLTextAreaElement): void => {
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
    preview.innerHTML = renderMarkdown(area.value)
  }
  void render()
  area.addEventListener("input", () => {
    clearTimeout(timer)
    timer = setTimeout(() => void render(), 120)
  })
}
