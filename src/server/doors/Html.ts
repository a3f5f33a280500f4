/** A value in a template. `undefined` and `false` render nothing; arrays render without separators. */
export type HtmlValue = Html | string | number | false | undefined | ReadonlyArray<HtmlValue>

/** HTML in which every value is escaped. Only {@link html} makes it, so plain text cannot be mistaken for it. */
export class Html {
  private readonly text: string

  private constructor(text: string) {
    this.text = text
  }

  /** Wraps text that is HTML already, such as rendered Markdown. Never pass anything that a caller can choose. */
  static trusted(text: string): Html {
    return new Html(text)
  }

  toString(): string {
    return this.text
  }
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  // HTML has no way to write NUL.
  "\0": "\ufffd"
}

const escape = (text: string): string => text.toWellFormed().replace(/[&<>"'\0]/g, (character) => entities[character]!)

const shown = (value: HtmlValue): string => {
  if (value === undefined || value === false) return ""
  if (value instanceof Html) return value.toString()
  return Array.isArray(value) ? value.map(shown).join("") : escape(String(value))
}

// Browsers ignore control characters and blanks before and inside a scheme.
const isScript = (address: string): boolean =>
  /^(?:javascript|vbscript|data):/i.test(address.replace(/[\0-\x20\x7f-\x9f]+/g, ""))

const takesAddress = (literal: string): boolean => /\s(?:href|src|action)="$/.test(literal.slice(-9))

/**
 * Builds HTML from a template literal. Values are escaped for the content of elements and for attributes in double quotes. A
 * URL that would run a script becomes `about:blank`.
 */
export const html = (literals: TemplateStringsArray, ...values: ReadonlyArray<HtmlValue>): Html => {
  let text = literals[0] ?? ""
  for (const [index, value] of values.entries()) {
    const isUnsafe = typeof value === "string" && takesAddress(literals[index] ?? "") && isScript(value)
    text += (isUnsafe ? "about:blank" : shown(value)) + (literals[index + 1] ?? "")
  }
  return Html.trusted(text)
}

/** A text with code in backticks. */
export const inlineCode = (text: string): Html =>
  html`${text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`

/** Text to copy, with a caption. The page's script adds a Copy button. */
export const codeBlock = (caption: string, text: string): Html =>
  html`<figure class="code"><figcaption>${caption}</figcaption><pre><code>${text}</code></pre></figure>`
