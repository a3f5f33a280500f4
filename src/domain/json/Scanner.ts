import { decodeString } from "./Strings.ts"
import { pointerTo, type JsonIssue } from "./JsonIssue.ts"
import { literalEnd, numberEnd, stringEnd } from "./Lexemes.ts"
import { duplicateName, syntaxFault, tooDeep } from "./ScanFaults.ts"

/** How many containers may be open at once. */
export const MAX_DEPTH = 100

/** Objects with more names than this look duplicates up in a Set, others compare hashes one by one. */
const FEW = 16

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_ARRAY = 91
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

// One frame for each open container. Shared by all scans: a scan never yields, and never calls out.
const closers = new Uint8Array(MAX_DEPTH)
const counts = new Int32Array(MAX_DEPTH)
const crowded = new Uint8Array(MAX_DEPTH)
const lastName = new Int32Array(MAX_DEPTH)
const names = new Int32Array(MAX_DEPTH * FEW)
const hashes = new Int32Array(MAX_DEPTH * FEW)

/** Validates values inside of one text, one after another, and copies them without white space. */
export class Scanner {
  readonly text: string
  /** The offset behind the last value. */
  end = 0
  /** The last value without white space. */
  compact = ""
  /** Why the last value is not acceptable, with a pointer below that value's own place. */
  issue: JsonIssue | undefined
  #path: ReadonlyArray<string | number> = []
  #copied = ""
  #from = 0
  #hash = 0
  #sets: Array<Set<string>> = []

  constructor(text: string) {
    this.text = text
  }

  /** Scans the value at an offset. False: see `issue`. */
  scan(start: number, maxDepth: number, path: ReadonlyArray<string | number>): boolean {
    const text = this.text
    const length = text.length
    this.#path = path
    this.#copied = ""
    this.#from = start
    let depth = 0
    let i = start
    value: for (;;) {
      let unit = i < length ? text.charCodeAt(i) : -1
      if (unit <= 32) {
        i = this.#skip(i)
        unit = i < length ? text.charCodeAt(i) : -1
      }
      if (unit === QUOTE) {
        const end = stringEnd(text, i + 1)
        if (end < 0) return this.#fail(~end, depth, true, "string")
        i = end
      } else if (unit === OPEN_OBJECT || unit === OPEN_ARRAY) {
        if (depth === maxDepth) return this.#refuse(tooDeep(this.#pointer(depth, true)))
        // Both closing characters are two code points behind the opening ones.
        closers[depth] = unit + 2
        counts[depth] = 0
        crowded[depth] = 0
        i = this.#skip(i + 1)
        if (i < length && text.charCodeAt(i) === unit + 2) {
          i++
        } else {
          depth++
          if (unit === OPEN_OBJECT) {
            i = this.#member(i, depth)
            if (i < 0) return false
          }
          continue value
        }
      } else {
        const isNumber = unit === 45 || (unit >= 48 && unit <= 57)
        const end = isNumber ? numberEnd(text, i) : literalEnd(text, i)
        if (end < 0) return this.#fail(~end, depth, true, isNumber ? "number" : "value")
        i = end
      }
      while (depth > 0) {
        const top = depth - 1
        unit = i < length ? text.charCodeAt(i) : -1
        if (unit <= 32) {
          i = this.#skip(i)
          unit = i < length ? text.charCodeAt(i) : -1
        }
        if (unit === COMMA) {
          i++
          counts[top] = counts[top]! + 1
          if (closers[top] === CLOSE_OBJECT) {
            i = this.#member(this.#skip(i), depth)
            if (i < 0) return false
          }
          continue value
        }
        if (unit !== closers[top]) {
          return this.#fail(i, depth, false, closers[top] === CLOSE_OBJECT ? "member end" : "item end")
        }
        i++
        depth = top
      }
      this.end = i
      this.compact = this.#copied + text.slice(this.#from, i)
      return true
    }
  }

  /** The offset of the next character that is no white space; white space is left out of the copy. */
  #skip(at: number): number {
    const text = this.text
    const length = text.length
    let i = at
    while (i < length) {
      const unit = text.charCodeAt(i)
      if (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9) break
      i++
    }
    if (i > at) {
      if (at > this.#from) this.#copied += text.slice(this.#from, at)
      this.#from = i
    }
    return i
  }

  /** The offset behind a member's name and colon, or a negative number after a fault. */
  #member(at: number, depth: number): number {
    const text = this.text
    const length = text.length
    if (at >= length || text.charCodeAt(at) !== QUOTE) {
      this.#fail(at, depth, false, counts[depth - 1] === 0 ? "first name" : "name")
      return -1
    }
    const end = this.#nameEnd(at)
    if (end < 0) {
      this.#fail(~end, depth, false, "string")
      return -1
    }
    lastName[depth - 1] = at
    if (this.#isDuplicate(at, end, depth - 1)) {
      this.#refuse(duplicateName(text, at, end, this.#pointer(depth, true)))
      return -1
    }
    let i = end
    let unit = i < length ? text.charCodeAt(i) : -1
    if (unit <= 32) {
      i = this.#skip(i)
      unit = i < length ? text.charCodeAt(i) : -1
    }
    if (unit === COLON) return i + 1
    this.#fail(i, depth, true, "colon")
    return -1
  }

  /** The offset behind a name, whose hash is kept; a negative number after a fault. */
  #nameEnd(at: number): number {
    const text = this.text
    const length = text.length
    let hash = 0
    for (let i = at + 1; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit === QUOTE) {
        this.#hash = hash
        return i + 1
      }
      if (unit === 92 || unit < 32) {
        const end = stringEnd(text, i)
        if (end > 0) this.#hash = hashOf(decodeString(text.slice(at, end)))
        return end
      }
      hash = (Math.imul(hash, 31) + unit) | 0
    }
    return ~length
  }

  #isDuplicate(at: number, end: number, frame: number): boolean {
    const base = frame * FEW
    const count = counts[frame]!
    if (crowded[frame] === 0) {
      const hash = this.#hash
      let i = base
      const behind = base + count
      while (i < behind && hashes[i] !== hash) i++
      if (i === behind && count < FEW) {
        hashes[i] = hash
        names[i] = at
        return false
      }
      // Equal hashes are rarely anything but equal names; a Set keeps forged ones from costing more than others.
      const earlier = new Set<string>()
      for (let k = base; k < behind; k++) earlier.add(this.#name(names[k]!))
      this.#sets[frame] = earlier
      crowded[frame] = 1
    }
    const set = this.#sets[frame]!
    const size = set.size
    return set.add(decodeString(this.text.slice(at, end))).size === size
  }

  #name(at: number): string {
    return decodeString(this.text.slice(at, stringEnd(this.text, at + 1)))
  }

  #pointer(depth: number, inside: boolean): string {
    const path = [...this.#path]
    const frames = inside ? depth : depth - 1
    for (let k = 0; k < frames; k++) {
      path.push(closers[k] === CLOSE_OBJECT ? this.#name(lastName[k]!) : counts[k]!)
    }
    return pointerTo(path)
  }

  #fail(at: number, depth: number, inside: boolean, expected: Parameters<typeof syntaxFault>[2]): false {
    return this.#refuse(syntaxFault(this.text, at, expected, this.#pointer(depth, inside)))
  }

  #refuse(issue: JsonIssue): false {
    this.issue = issue
    return false
  }
}

const hashOf = (name: string): number => {
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0
  return hash
}
