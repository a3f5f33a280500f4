import type { Row } from "./Bench.ts"
import type { Figure, Outcome, Sample } from "./Measure.ts"

const rounded = (value: number): string => {
  if (value >= 100) return Math.round(value).toLocaleString("en")
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

const spread = (figure: Figure | undefined): string => {
  if (figure === undefined) return ""
  const { least, median, most } = figure
  return least === most ? rounded(median) : `${rounded(median)} (${rounded(least)}–${rounded(most)})`
}

const ratio = (first: Outcome, other: Outcome, name: keyof Sample): string => {
  const [one, two] = [first.figures[name], other.figures[name]]
  if (first === other || one === undefined || two === undefined || two.median === 0) return ""
  return `${(one.median / two.median).toFixed(2)} ×`
}

const heads = ["", "per second", "ratio", "CPU µs", "ratio", "database µs", "p50 ms", "p99 ms"]

const linesOf = ({ outcomes }: Row): ReadonlyArray<ReadonlyArray<string>> =>
  outcomes.map((outcome) => {
    const { cpu, databaseCpu, p50, p99, perSecond } = outcome.figures
    const first = outcomes[0]!
    return [
      outcome.variant,
      spread(perSecond),
      ratio(first, outcome, "perSecond"),
      spread(cpu),
      ratio(first, outcome, "cpu"),
      spread(databaseCpu),
      spread(p50),
      spread(p99)
    ]
  })

/** A table of Markdown, whose columns are as wide in a terminal. */
export const markdown = (heads: ReadonlyArray<string>, lines: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = heads.map((head, column) => Math.max(head.length, ...lines.map((line) => line[column]!.length)))
  const padded = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join(" | ")} |`
  const rule = `| ${widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`
  return [padded(heads), rule, ...lines.map(padded)].join("\n")
}

/** One row of the benchmark as text: its variants, the first of which the ratios compare with the others. */
export const printRow = (row: Row): string => {
  const table = row.outcomes.length === 0 ? [] : [markdown(heads, linesOf(row))]
  return [`### ${row.work}`, ...table, ...row.notes].join("\n\n")
}
