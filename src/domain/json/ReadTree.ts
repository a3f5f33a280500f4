import { decodeString } from "./Strings.ts"
import { stringClose } from "./SkipValue.ts"

/** Sets an own member also where the name is `__proto__`. */
export const setMember = (target: object, name: string, value: unknown): void => {
  if (name === "__proto__") {
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
  } else {
    ;(target as Record<string, unknown>)[name] = value
  }
}

/** Reads a validated, compact text into JavaScript values; the caller says what numbers become. */
export const readTree = (text: string, readNumber: (text: string) => unknown): unknown =>
  new TreeReader(text, readNumber).value()

class TreeReader {
  readonly text: string
  readonly readNumber: (text: string) => unknown
  at = 0

  constructor(text: string, readNumber: (text: string) => unknown) {
    this.text = text
    this.readNumber = readNumber
  }

  value(): unknown {
    switch (this.text.charCodeAt(this.at)) {
      case 34:
        return this.string()
      case 91:
        return this.array()
      case 123:
        return this.object()
      case 116:
        this.at += 4
        return true
      case 102:
        this.at += 5
        return false
      case 110:
        this.at += 4
        return null
      default:
        return this.number()
    }
  }

  string(): string {
    const from = this.at
    this.at = stringClose(this.text, from) + 1
    return decodeString(this.text.slice(from, this.at))
  }

  number(): unknown {
    const from = this.at
    while (this.at < this.text.length) {
      const unit = this.text.charCodeAt(this.at)
      if (unit === 44 || unit === 93 || unit === 125) break
      this.at++
    }
    return this.readNumber(this.text.slice(from, this.at))
  }

  array(): Array<unknown> {
    const items: Array<unknown> = []
    while (this.more(93)) items.push(this.value())
    return items
  }

  object(): object {
    const target = {}
    while (this.more(125)) {
      const name = this.string()
      this.at++
      setMember(target, name, this.value())
    }
    return target
  }

  /** Steps over an opening bracket or a comma; false at the closing one. */
  more(close: number): boolean {
    const unit = this.text.charCodeAt(this.at)
    this.at++
    if (unit === close || this.at >= this.text.length) return false
    if (unit === 44 || this.text.charCodeAt(this.at) !== close) return true
    this.at++
    return false
  }
}
