import { randomUUID } from "node:crypto"
import type { JsonText } from "../../domain/json/JsonText.ts"

/**
 * Carries exact JSON through a library that knows JavaScript values only: each text is a place holder on the way, which
 * is filled in when the whole answer is text. Nobody can store a place holder, since each request has its own.
 */
export class ExactAnswer {
  readonly #mark = randomUUID()
  readonly #texts: Array<string> = []

  /** The object that stands for the text. */
  hold(json: JsonText): Record<string, unknown> {
    this.#texts.push(json.text)
    return { [this.#mark]: this.#texts.length - 1 }
  }

  /** The answer's text with all place holders filled in. */
  fill(text: string): string {
    if (this.#texts.length === 0) return text
    return text.replaceAll(new RegExp(`\\{"${this.#mark}":(\\d+)\\}`, "g"), (_, index) => this.#texts[Number(index)]!)
  }
}
