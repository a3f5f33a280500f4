/** Breaks a text into lines of so many columns at most, between words; every line but the first is indented. */
export const hanging = (text: string, columns: number, indent: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (longer.length <= columns || line.trim() === "") {
      line = longer
      continue
    }
    lines.push(line)
    line = " ".repeat(indent) + word
  }
  return [...lines, line]
}

/** A line of help, its name kept apart from what is said of it; below it where both do not fit side by side. */
const wrapLine = (line: string, columns: number): ReadonlyArray<string> => {
  if (line.length <= columns) return [line]
  const [, head = "", rest = ""] = /^( +\S.*?\s{2,})?(.*)$/.exec(line) ?? []
  const indent = /^ */.exec(line)![0].length
  if (head === "") return hanging(line.trimStart(), columns - indent, 0).map((part) => " ".repeat(indent) + part)
  if (head.length > columns / 2) {
    const below = " ".repeat(indent + 4)
    return [head.trimEnd(), ...hanging(rest, columns - below.length, 0).map((part) => below + part)]
  }
  const [first = "", ...others] = hanging(rest, columns - head.length, 0)
  return [head + first, ...others.map((part) => " ".repeat(head.length) + part)]
}

/** A text of help within so many columns. */
export const wrapHelp = (text: string, columns: number): string =>
  text
    .split("\n")
    .flatMap((line) => wrapLine(line, columns))
    .join("\n")
