const BREAK = /\r\n?|\n/g

/** A text as editors hold it, with every line ending a line feed. */
export const withLineFeeds = (text: string): string => text.replace(BREAK, "\n")

interface Lines {
  readonly texts: ReadonlyArray<string>
  /** The ending of each line; the last line has none. */
  readonly endings: ReadonlyArray<string>
}

const linesOf = (text: string): Lines => ({ texts: text.split(/\r\n?|\n/), endings: text.match(BREAK) ?? [] })

/** The ending that most lines have, which new lines get; a line feed where there is none. */
const usual = (endings: ReadonlyArray<string>): string => {
  const counts = new Map<string, number>()
  for (const ending of endings) counts.set(ending, (counts.get(ending) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? "\n"
}

/**
 * Gives an edited text the line endings of the stored one. Lines that were not touched keep theirs, so a text that was
 * not changed comes out exactly as it was stored; new lines get the usual ending.
 */
export const withStoredEndings = (stored: string, edited: string): string => {
  const before = linesOf(stored)
  const after = linesOf(edited)
  const common = usual(before.endings)
  if (before.endings.every((ending) => ending === common)) return after.texts.join(common)
  const endings: Array<string> = after.endings.map(() => common)
  let head = 0
  while (head < endings.length && head < before.endings.length && after.texts[head] === before.texts[head]) {
    endings[head] = before.endings[head] ?? common
    head++
  }
  let at = endings.length - 1
  let from = before.endings.length - 1
  // A line ending belongs to the line break between two lines, so from the end it goes with the line behind it.
  while (at >= head && from >= head && after.texts[at + 1] === before.texts[from + 1]) {
    endings[at] = before.endings[from] ?? common
    at--
    from--
  }
  // Where each line stands, the last place first.
  const places = new Map<string, Array<number>>()
  for (let index = from; index >= head; index--) {
    const text = before.texts[index] ?? ""
    const all = places.get(text)
    if (all === undefined) places.set(text, [index])
    else all.push(index)
  }
  let next = head
  for (let i = head; i <= at; i++) {
    const all = places.get(after.texts[i] ?? "") ?? []
    while (all.length > 0 && all.at(-1)! < next) all.pop()
    const found = all.at(-1) ?? (at - head === from - head ? i : -1)
    if (found === -1) continue
    endings[i] = before.endings[found] ?? common
    next = found + 1
  }
  return joined(after.texts, endings)
}

const joined = (texts: ReadonlyArray<string>, endings: ReadonlyArray<string>): string => {
  const parts: Array<string> = []
  let before = ""
  for (const [index, line] of texts.entries()) {
    const ending = endings[index] ?? ""
    // Two endings that meet around an empty line must not become the one ending CRLF.
    before = ending === "\n" && line === "" && before === "\r" ? "\r\n" : ending
    parts.push(line, before)
  }
  return parts.join("")
}
