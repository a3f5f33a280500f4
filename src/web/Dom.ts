type Attributes = Readonly<Record<string, string | boolean | undefined>>

/** Makes an element. Children are nodes or plain text, so that nothing stored can become markup. */
export const element = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: ReadonlyArray<Node | string>
): HTMLElementTagNameMap[K] => {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "")
    else if (typeof value === "string") made.setAttribute(key, value)
  }
  made.append(...children)
  return made
}

export const button = (
  label: string,
  onClick: (button: HTMLButtonElement) => void,
  attributes: Attributes = {}
): HTMLButtonElement => {
  const made = element("button", { type: "button", ...attributes }, label)
  made.addEventListener("click", () => onClick(made))
  return made
}

/** Copies a text and says on the button how that went. */
export const copyText = async (button: HTMLButtonElement, text: string): Promise<void> => {
  const label = (button.dataset["label"] ??= button.textContent)
  const copied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false
  )
  button.textContent = copied ? "Copied" : "Copying is blocked here"
  setTimeout(() => (button.textContent = label), 2000)
}

/** The nonce with which the page's Content-Security-Policy allows style elements that scripts make. */
export const styleNonce = (): string => document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? ""
