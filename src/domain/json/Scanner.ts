import { flat } from "./JsonText.ts"
import { decodeString, literalEnd, numberEnd, spaceEnd, stringEnd } from "./Lexemes.ts"
import { duplicateName, pointerTo, syntaxFault, tooDeep, type Expected, type JsonIssue } from "./JsonIssue.ts"

/** How many containers may be open at once. */
export const MAX_DEPTH = 100

/** Objects with more names than this look duplicates up in a Set, others compare hashes one by one. */
const FEW = 32

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_ARRAY = 91
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** How many pieces are joined at once: until then each takes several times its length in memory. */
const PIECES = 4096

// One frame for each open container, shared by all scans: a scan that pauses saves its frames.
const closers = new Uint8Array(MAX_DEPTH)
const counts = new Int32Array(MAX_DEPTH)
const crowded = new Uint8Array(MAX_DEPTH)
const lastName = new Int32Array(MAX_DEPTH)
const names = new Int32Array(MAX_DEPTH * FEW)
const hashes = new Int32Array(MAX_DEPTH * FEW)
const frames: ReadonlyArray<Uint8Array | Int32Array> = [closers, counts, crowded, lastName, names, hashes]

/** Validates values inside of one text, one after another, and copies them without white space. */
export class Scanner {
  readonly text: string
  /** The offset behind the last value, or where the scan paused. */
  end = 0
  /** The last value without white space. */
  compact = ""
  /** Why the last value is not acceptable; its pointer continues the path that was given. */
  issue: JsonIssue | undefined
  /** The offset from which on a scan pauses before the next value. */
  pauseAt = Infinity
  private path: ReadonlyArray<string | number> = []
  private maxDepth = 0
  private maxLength = Infinity
  private copied = ""
  private copiedPieces = 0
  private fresh = ""
  private from = 0
  private sets: Array<Set<string>> = []
  private paused: { readonly depth: number; readonly kept: typeof frames } | undefined

  constructor(text: string) {
    this.text = text
  }

  /**
   * Scans the value at an offset: true when it is whole, false where it is not acceptable (see `issue`), undefined for a
   * pause, after which `resume` goes on. Behind `maxLength` characters names are no longer compared: callers that give one refuse
   * longer values anyway.
   */
  scan(
    start: number,
    maxDepth: number,
    path: ReadonlyArray<string | number>,
    maxLength = Infinity
  ): boolean | undefined {
    this.path = path
    this.maxDepth = maxDepth
    this.maxLength = maxLength
    this.copied = ""
    this.copiedPieces = 0
    this.fresh = ""
    this.from = start
    return this.advance(start, 0)
  }

  /** Continues after a pause, with the same results as {@link scan}. */
  resume(): boolean | undefined {
    const { depth, kept } = this.paused!
    this.paused = undefined
    for (const [index, live] of frames.entries()) live.set(kept[index]!)
    return this.advance(this.end, depth)
  }

  private pause(at: number, depth: number): undefined {
    this.paused = { depth, kept: frames.map((live) => live.slice(0, (depth * live.length) / MAX_DEPTH)) }
    this.end = at
  }

  private advance(start: number, startDepth: number): boolean | undefined {
    const { maxDepth, pauseAt, text } = this
    const length = text.length
    let depth = startDepth
    let closer = depth > 0 ? closers[depth - 1]! : 0
    let i = start
    value: for (;;) {
      if (i >= pauseAt) return this.pause(i, depth)
      let unit = i < length ? text.charCodeAt(i) : -1
      if (unit <= 32) {
        i = this.skip(i)
        unit = i < length ? text.charCodeAt(i) : -1
      }
      if (unit === QUOTE) {
        const end = stringEnd(text, i + 1)
        if (end < 0) return this.fail(~end, depth, true, "string")
        i = end
      } else if (unit === OPEN_OBJECT || unit === OPEN_ARRAY) {
        if (depth === maxDepth) return this.refuse(tooDeep(this.pointer(depth, true)))
        // Both closing characters are two code points behind the opening ones.
        const close = unit + 2
        i++
        unit = i < length ? text.charCodeAt(i) : -1
        if (unit <= 32) {
          i = this.skip(i)
          unit = i < length ? text.charCodeAt(i) : -1
        }
        if (unit === close) {
          i++
        } else {
          closer = close
          closers[depth] = close
          counts[depth] = 0
          crowded[depth] = 0
          depth++
          if (close === CLOSE_OBJECT) {
            i = this.member(i, depth)
            if (i < 0) return false
          }
          continue value
        }
      } else {
        const isNumber = unit === 45 || (unit >= 48 && unit <= 57)
        const end = isNumber ? numberEnd(text, i) : literalEnd(text, i)
        if (end < 0) return this.fail(~end, depth, true, isNumber ? "number" : "value")
        i = end
      }
      while (depth > 0) {
        unit = i < length ? text.charCodeAt(i) : -1
        if (unit <= 32) {
          i = this.skip(i)
          unit = i < length ? text.charCodeAt(i) : -1
        }
        if (unit === COMMA) {
          i++
          counts[depth - 1] = counts[depth - 1]! + 1
          if (closer === CLOSE_OBJECT) {
            i = this.member(i, depth)
            if (i < 0) return false
          }
          continue value
        }
        if (unit !== closer) {
          return this.fail(i, depth, false, closer === CLOSE_OBJECT ? "member end" : "item end")
        }
        i++
        depth--
        if (depth > 0) closer = closers[depth - 1]!
      }
      this.end = i
      this.compact = this.copied + this.fresh + text.slice(this.from, i)
      return true
    }
  }

  private skip(at: number): number {
    const end = spaceEnd(this.text, at)
    if (end > at) {
      if (at > this.from) this.keep(this.text.slice(this.from, at))
      this.from = end
    }
    return end
  }

  private keep(piece: string): void {
    this.fresh += piece
    if (++this.copiedPieces % PIECES !== 0) return
    this.copied += flat(this.fresh)
    this.fresh = ""
  }

  private member(start: number, depth: number): number {
    const text = this.text
    const length = text.length
    let at = start
    let unit = at < length ? text.charCodeAt(at) : -1
    if (unit <= 32) {
      at = this.skip(at)
      unit = at < length ? text.charCodeAt(at) : -1
    }
    if (unit !== QUOTE) return this.failMember(at, depth, false, counts[depth - 1] === 0 ? "first name" : "name")
    let hash = 0
    let i = at + 1
    for (;;) {
      unit = i < length ? text.charCodeAt(i) : -1
      if (unit === QUOTE) {
        i++
        break
      }
      if (unit === 92 || unit < 32) {
        i = stringEnd(text, i)
        if (i < 0) return this.failMember(~i, depth, false, "string")
        hash = hashOf(decodeString(text.slice(at, i)))
        break
      }
      hash = (Math.imul(hash, 31) + unit) | 0
      i++
    }
    const frame = depth - 1
    lastName[frame] = at
    const isInside = this.copied.length + this.fresh.length + at - this.from < this.maxLength
    if (isInside && this.isDuplicate(at, i, hash, frame)) {
      this.refuse(duplicateName(text, at, i, this.pointer(depth, true)))
      return -1
    }
    unit = i < length ? text.charCodeAt(i) : -1
    if (unit <= 32) {
      i = this.skip(i)
      unit = i < length ? text.charCodeAt(i) : -1
    }
    return unit === COLON ? i + 1 : this.failMember(i, depth, true, "colon")
  }

  private isDuplicate(at: number, end: number, hash: number, frame: number): boolean {
    const base = frame * FEW
    const count = counts[frame]!
    if (crowded[frame] === 0) {
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
      for (let k = base; k < behind; k++) earlier.add(this.name(names[k]!))
      this.sets[frame] = earlier
      crowded[frame] = 1
    }
    const set = this.sets[frame]!
    const size = set.size
    return set.add(decodeString(this.text.slice(at, end))).size === size
  }

  private name(at: number): string {
    return decodeString(this.text.slice(at, stringEnd(this.text, at + 1)))
  }

  private pointer(depth: number, inside: boolean): string {
    const path = [...this.path]
    const frames = inside ? depth : depth - 1
    for (let k = 0; k < frames; k++) {
      path.push(closers[k] === CLOSE_OBJECT ? this.name(lastName[k]!) : counts[k]!)
    }
    return pointerTo(path)
  }

  private fail(at: number, depth: number, inside: boolean, expected: Expected): false {
    return this.refuse(syntaxFault(this.text, at, expected, this.pointer(depth, inside)))
  }

  private failMember(at: number, depth: number, inside: boolean, expected: Expected): number {
    this.fail(at, depth, inside, expected)
    return -1
  }

  private refuse(issue: JsonIssue): false {
    this.issue = issue
    return false
  }
}

const hashOf = (name: string): number => {
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0
  return hash
}
