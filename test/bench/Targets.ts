import type { Row } from "./Bench.ts"
import type { Sample } from "./Measure.ts"
import { markdown } from "./Table.ts"

interface Target {
  readonly says: string
  /** The row that it is about, and the variant that the row's first is compared with. */
  readonly row: string
  readonly against: string
  readonly figure: "perSecond" | "cpu"
  /** How many times the other's figure the first one's has to be: at least, or at most. */
  readonly least?: number
  readonly most?: number
}

const requests = (row: string, says: string, against: string, least: number): Target => ({
  row,
  says: `${says}: at least ${least} times the requests/s of ${against}`,
  against,
  figure: "perSecond",
  least
})

const cpu = (row: string, says: string, against: string, most: number): Target => ({
  row,
  says: `${says}: at most ${most} times the CPU of ${against}`,
  against,
  figure: "cpu",
  most
})

const targets: ReadonlyArray<Target> = [
  requests("add", "add, 1,000 accounts", "floor", 0.6),
  requests("add", "add, 1,000 accounts", "parse-server", 2),
  cpu("add", "add, 1,000 accounts", "floor", 2.5),
  requests("add-one", "add, 1 account", "floor", 0.8),
  requests("add-one", "add, 1 account", "parse-server", 2.5),
  requests("query", "query in memory", "floor", 2),
  requests("query", "query in memory", "parse-server", 3),
  requests("query-first", "the same, first read", "floor", 0.6),
  requests("count", "count in memory", "floor", 1.5),
  requests("update_row", "update_row", "floor", 0.4),
  requests("update_row", "update_row", "parse-server", 1.5),
  requests("upsert", "upsert", "floor", 0.4),
  requests("restore", "restore", "floor", 0.4),
  requests("batch", "batch of 100 adds", "floor", 0.5),
  cpu("mcp-query", "MCP query", "REST", 2),
  cpu("mcp-add", "MCP add", "REST", 2)
]

/** The most that a p99 is of its p50. */
const mostSpread = 3

/** The most that the p95 of a page of the console is, in milliseconds of the service's time. */
const mostOfPage = 100

const median = (row: Row | undefined, variant: string | undefined, figure: keyof Sample): number | undefined => {
  const outcome = row?.outcomes.find((one) => variant === undefined || one.variant === variant)
  return outcome?.figures[figure]?.median
}

const lineOf = (says: string, reached: number | undefined, isMet: boolean): ReadonlyArray<ReadonlyArray<string>> =>
  reached === undefined ? [] : [[says, `${reached.toFixed(2)} times`, isMet ? "met" : "missed"]]

const share = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? undefined : one / other

/** What of the targets was reached by the rows of a run. */
export const printTargets = (rows: ReadonlyArray<Row>): string => {
  const named = (name: string) => rows.find((row) => row.name === name)
  const lines = targets.flatMap(({ against, figure, least = 0, most = Infinity, row, says }) => {
    const reached = share(median(named(row), undefined, figure), median(named(row), against, figure))
    return lineOf(says, reached, reached !== undefined && reached >= least && reached <= most)
  })
  const add = named("add")
  const spread = share(median(add, undefined, "p99"), median(add, undefined, "p50"))
  lines.push(...lineOf(`add at 32 connections: p99 at most ${mostSpread} times p50`, spread, spread! <= mostSpread))
  for (const row of rows) {
    const slow = row.name?.startsWith("page-") === true ? median(row, undefined, "p95") : undefined
    if (slow === undefined) continue
    const isMet = slow <= mostOfPage
    lines.push([`${row.work}: p95 at most ${mostOfPage} ms`, `${slow.toFixed(1)} ms`, isMet ? "met" : "missed"])
  }
  const alone = median(named("add-by-1"), undefined, "p50")
  if (alone !== undefined) {
    lines.push(["add over one connection: p50 not above that of the last release", `${alone.toFixed(2)} ms`, ""])
  }
  return lines.length === 0 ? "" : `## Targets\n\n${markdown(["Target", "Reached", ""], lines)}\n`
}
