import { rawNumberJson } from "./RawNumber.ts"
import { readTree } from "./ReadTree.ts"
import { utf8Length } from "./Utf8.ts"

/**
 * A validated JSON text without white space outside of strings; escapes and numbers are spelled as they were sent.
 *
 * It never holds U+0000 or a lone surrogate as a character, so a PostgreSQL `text` column takes it as it is. Only
 * `scan`, `parseEnvelope` and `merge` make one from text of unknown origin.
 */
export class JsonText {
  readonly text: string
  #bytes = -1

  private constructor(text: string) {
    this.text = text
  }

  /** Wraps text without any check: only for text that was validated before, such as a stored row. */
  static trusted(text: string): JsonText {
    return new JsonText(text)
  }

  /** Whether a value is a `JsonText`. */
  static is(value: unknown): value is JsonText {
    return value instanceof JsonText
  }

  /** The length in UTF-8. */
  get bytes(): number {
    if (this.#bytes < 0) this.#bytes = utf8Length(this.text)
    return this.#bytes
  }

  /**
   * Lets `JSON.stringify` print this value with every digit, on run times with `JSON.rawJSON`. Members with
   * integer-like names move to the front, as in every JavaScript object; `print` keeps their place.
   */
  toJSON(): unknown {
    return readTree(this.text, rawNumberJson)
  }
}
