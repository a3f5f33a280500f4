import { Effect } from "effect"

/** A line of a terminal that is drawn over and over; where there is no terminal, nothing is. */
export interface Progress {
  readonly update: (done: number, total?: number) => void
  readonly say: (text: string) => void
}

const interval = 100
const megabyte = 1_048_576

const inMegabytes = (bytes: number) => (bytes / megabyte).toFixed(1)

/** `Sending [#####-----]  52 %, 14.2 of 28.7 MB`, as much of it as fits into so many columns. */
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

/** Draws progress to standard error while the effect runs, and leaves nothing of it. */
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
