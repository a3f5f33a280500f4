/** Shows a text in the button that was pressed, which screen readers announce. */
const say = (button: HTMLButtonElement, text: string): void => {
  const before = button.dataset["label"] ?? button.textContent
  button.dataset["label"] = before
  button.textContent = text
  setTimeout(() => (button.textContent = before), 2000)
}

/** Copies a text; where the browser refuses, it is selected so that a key press can copy it. */
const copy = async (source: HTMLElement, button: HTMLButtonElement): Promise<void> => {
  const text = source instanceof HTMLInputElement ? source.value : source.textContent
  try {
    await navigator.clipboard.writeText(text)
    say(button, "Copied")
  } catch {
    if (source instanceof HTMLInputElement) source.select()
    else getSelection()?.selectAllChildren(source)
    say(button, "Press Ctrl+C to copy")
  }
}

const copyButton = (source: HTMLElement, what: string): HTMLButtonElement => {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  button.setAttribute("aria-live", "polite")
  if (what !== "") button.title = `Copy ${what}`
  button.addEventListener("click", () => void copy(source, button))
  return button
}

/** Gives a Copy button to every code block with a caption, and to every field that is there to be copied. */
const addCopyButtons = (root: ParentNode): void => {
  for (const figure of root.querySelectorAll<HTMLElement>("figure.code")) {
    const source = figure.querySelector<HTMLElement>("pre")
    const caption = figure.querySelector("figcaption")
    if (source !== null && caption !== null) caption.append(copyButton(source, caption.textContent))
  }
  for (const field of root.querySelectorAll<HTMLInputElement>("input[data-copy]")) {
    field.addEventListener("focus", () => field.select())
    field.after(copyButton(field, ""))
  }
}

addCopyButtons(document)
