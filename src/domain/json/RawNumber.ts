const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

const rawJson = (JSON as { readonly rawJSON?: (text: string) => unknown }).rawJSON

/** A JSON number that no JavaScript number spells the same way, such as `1.10` or `1e400`. */
export class RawNumber {
  readonly text: string

  /** Throws a TypeError when the text is not a JSON number. */
  constructor(text: string) {
    if (!NUMBER.test(text)) throw new TypeError("A RawNumber takes the text of a JSON number")
    this.text = text
  }

  /** Keeps the digits under `JSON.stringify`, on run times with `JSON.rawJSON`. */
  toJSON(): unknown {
    return rawJson === undefined ? Number(this.text) : rawJson(this.text)
  }

  toString(): string {
    return this.text
  }
}

/** Whether the nearest double prints back as the very same text. */
export const isDouble = (text: string): boolean => String(Number(text)) === text

/** A number's value for `JSON.stringify`: a double where that is exact, else the digits as sent. */
export const rawNumberJson = (text: string): unknown =>
  rawJson === undefined || isDouble(text) ? Number(text) : rawJson(text)
