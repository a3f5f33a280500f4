import { Data, Effect } from "effect"

/** A command failed; the message says why, and what to do about it. */
export class Stopped extends Data.TaggedError("Stopped")<{ readonly message: string }> {}

// Control characters except tab and line feed, and those that change the direction of text.
const unsafe = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/**
 * A text from elsewhere, safe to show on a terminal: control characters, which could move the cursor, hide lines or set the
 * window's title, become JSON escapes. In JSON strings these mean the same.
 */
export const visible = (text: string): string =>
  text.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** A pipe gets the exact bytes; a terminal gets the document without control characters and with a line feed at its end. */
export const writeOutput = (bytes: Uint8Array) =>
  Effect.callback<void, Stopped>((resume) => {
    const shown = process.stdout.isTTY ? `${visible(Buffer.from(bytes).toString().trimEnd())}\n` : bytes
    process.stdout.write(shown, (error) =>
      resume(error ? Effect.fail(new Stopped({ message: `The output was not read: ${error.message}` })) : Effect.void)
    )
  })

/** Wraps a text between words into lines of at most `columns`. All lines but the first are indented. */
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

/** Wraps a line of help, with the description beside the name, or below it if both do not fit. */
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

/** Wraps a text of help. */
export const wrapHelp = (text: string, columns: number): string =>
  text
    .split("\n")
    .flatMap((line) => wrapLine(line, columns))
    .join("\n")

/** A line on a terminal that is redrawn. Without a terminal, nothing is drawn. */
export interface Progress {
  readonly update: (done: number, total?: number) => void
  readonly say: (text: string) => void
}

const interval = 100
const megabyte = 1_048_576

const inMegabytes = (bytes: number) => (bytes / megabyte).toFixed(1)

/** `Sending [#####-----]  52 %, 14.2 of 28.7 MB`, or as much of it as fits. */
const progressLine = (label: string, columns: number, done: number, total?: number): string => {
  if (total === undefined || total === 0) return `${label} ${inMegabytes(done)} MB`.slice(0, columns - 1)
  const share = Math.min(1, done / total)
  const percent = `${String(Math.floor(share * 100)).padStart(3)} %`
  const sizes = columns < 60 ? "" : `, ${inMegabytes(done)} of ${inMegabytes(total)} MB`
  const width = Math.min(40, columns - label.length - percent.length - sizes.length - 5)
  if (width < 5) return `${label} ${percent}`.slice(0, columns - 1)
  const filled = Math.round(share * width)
  return `${label} [${"#".repeat(filled)}${"-".repeat(width - filled)}] ${percent}${sizes}`
}

/** Draws progress to standard error while the effect runs, and clears it at the end. */
export const withProgress = <A, E, R>(
  label: string,
  run: (progress: Progress) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const { stderr } = process
    if (!stderr.isTTY) return run({ update: () => undefined, say: () => undefined })
    let drawn = -interval
    const draw = (line: string) => void stderr.write(`\r\u001b[2K${line}`)
    const columns = () => stderr.columns || 80
    const progress: Progress = {
      update: (done, total) => {
        if (performance.now() - drawn < interval && done !== total) return
        drawn = performance.now()
        draw(progressLine(label, columns(), done, total))
      },
      say: (text) => draw(text.slice(0, columns() - 1))
    }
    return Effect.ensuring(
      run(progress),
      Effect.sync(() => draw(""))
    )
  })
