import { button, copyText, saveFile } from "./Dom.ts"

/** Buttons that take a text away from the page without the service. */
export const rescue = (
  text: () => string,
  { name, type }: { readonly name: string; readonly type: string }
): ReadonlyArray<HTMLElement> => [
  button("Copy the text", (pressed) => void copyText(pressed, text())),
  button("Download the text", () => saveFile(name, text(), type))
]
