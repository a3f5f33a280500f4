import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { readdirSync, readFileSync } from "node:fs"
import { commitStatement } from "../../src/server/tables/engine/Commits.ts"
import { explained, prepare, release, type Plan } from "./Plans.ts"

/** A statement as the sources have it: its literal parts, between which values or fragments are put in. */
export interface Template {
  /** The file and the method or constant that it belongs to, such as `RowsRepo.query`. */
  readonly name: string
  readonly parts: ReadonlyArray<string>
}

/** The text from `start` up to the backtick that ends it, in its parts. */
const partsFrom = (source: string, start: number): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let from = start
  for (let index = start; ; index++) {
    if (source[index] === "`") return [...parts, source.slice(from, index)]
    if (!source.startsWith("${", index)) continue
    parts.push(source.slice(from, index))
    let depth = 1
    for (index += 2; depth > 0; index++) depth += { "{": 1, "}": -1 }[source[index]!] ?? 0
    from = index--
  }
}

const definition = /(?<=\bconst )\w+(?= = (?:Effect\.(?:fn|gen)|traced\(|SqlSchema\.|sql\b|\(.*\) =>\n))/g
const isStatement = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|TRUNCATE|MERGE|COPY|LOCK|VALUES)\b/i

const inSources: ReadonlyArray<Template> = readdirSync(new URL("../../src/server/", import.meta.url), {
  recursive: true,
  encoding: "utf8"
})
  .filter((file) => file.endsWith(".ts"))
  .toSorted()
  .flatMap((file) => {
    const source = readFileSync(new URL(`../../src/server/${file}`, import.meta.url), "utf8")
    return [...source.matchAll(/\bsql(?:<[^`]*?>)?`/g)].flatMap(({ 0: opening, index }) => {
      const parts = partsFrom(source, index + opening.length)
      const above = source.slice(0, index).match(definition) ?? []
      return isStatement.test(parts[0]!) ? [{ name: `${/(\w+)\.ts$/.exec(file)![1]}.${above.at(-1)}`, parts }] : []
    })
  })

const both = [false, true]
const commits = both.flatMap((changes) =>
  both.flatMap((records) =>
    both.flatMap((waits) =>
      // Rows that are removed for good are changes.
      (changes ? both : [false]).map((forgets) => commitStatement({ changes, records, forgets, waits }).text)
    )
  )
)

/** Every statement of the service. */
export const templates: ReadonlyArray<Template> = [
  ...inSources,
  ...commits.map((text) => ({ name: "CommitStatement.commitStatement", parts: [text] }))
]

const squeezed = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** Says whether the statement that was sent comes from the template. */
export const isOf = (template: Template, text: string): boolean => {
  const parts = template.parts.map((part) => squeezed(part).replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join(".*?")}$`).test(squeezed(text))
}

/** The template with a parameter in each gap. */
export const textOf = ({ parts }: Template): string =>
  parts.reduce((text, part, index) => (index === 0 ? part : `${text}$${index}${part}`), "")

/** Shows each statement that is sent under it, before it is. */
export const showing =
  (see: (text: string, parameters: ReadonlyArray<unknown>) => Effect.Effect<void>): Statement.Transformer =>
  (statement) =>
    Effect.as(see(...statement.compile()), statement)

/** Notes the text of each statement that is sent under it. */
export const recorder = () => {
  const sent = new Set<string>()
  return { sent, transformer: showing((text) => Effect.sync(() => void sent.add(text))) }
}

const own = ["Index Cond", "Recheck Cond", "Filter"]
const joins = ["Hash Cond", "Merge Cond", "Join Filter"]

const conditions = (plan: Plan, names: ReadonlyArray<string>): string =>
  names.map((name) => (plan[name] === undefined ? "" : String(plan[name]))).join(" ")

interface Access {
  readonly table: string
  /** By a parameter, by an equality with another access, or not at all. */
  readonly account: "given" | "joined" | "any"
}

const accesses = (plan: Plan, tables: ReadonlySet<string>, above: string): ReadonlyArray<Access> => {
  const table = plan["Relation Name"]
  const within = (plan.Plans ?? []).flatMap((inner) => accesses(inner, tables, `${above} ${conditions(plan, joins)}`))
  if (table === undefined || !tables.has(table) || plan["Node Type"] === "ModifyTable") return within
  const conditioned = conditions(plan, own)
  const alias = String.raw`\b${plan.Alias}\.account_id\b`
  const isJoined =
    /\baccount_id = |= (?:\w+\.)?account_id\b/.test(conditioned) || new RegExp(`${alias} = |= ${alias}`).test(above)
  const account = /\baccount_id = (?:ANY )?\(?\$\d/.test(conditioned) ? "given" : isJoined ? "joined" : "any"
  return [{ table, account }, ...within]
}

/** Accesses that are joined with one another only reach every account. */
const unbound = (all: ReadonlyArray<Access>): ReadonlyArray<string> => {
  const isAnchored = all.some(({ account }) => account === "given")
  return all.filter(({ account }) => account === "any" || !isAnchored).map(({ table }) => table)
}

/** The tables that hold something of one account; `account_emails` is looked up by address, in every shard alike. */
export const accountTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<{ name: string }>`
    SELECT table_name AS name
    FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'account_id' AND table_name <> 'account_emails'
    ORDER BY table_name
  `
  return found.map((row) => row.name)
})

/**
 * The tables that a statement reaches without naming the account, by the server's own plan for unknown parameters, which
 * is what the service's sessions ask for. That an insert names it is seen from its columns.
 */
export const tablesWithoutAccount = Effect.fnUntraced(function* (text: string) {
  const sql = yield* SqlClient.SqlClient
  const tables = new Set(yield* accountTables)
  const parameters = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
  const nulls = Array.from({ length: parameters }, () => "NULL")
  const plans = yield* Effect.scoped(
    Effect.gen(function* () {
      const session = yield* sql.reserve
      yield* prepare(session, "looked_at", text)
      return yield* Effect.ensuring(explained(session, "looked_at", nulls), release(session, "looked_at"))
    })
  )
  const inserts = [...text.matchAll(/INSERT INTO (\w+)([^)]*)/gi)]
    .filter(([, table, columns]) => tables.has(table!) && !/\baccount_id\b/.test(columns!))
    .map(([, table]) => table!)
  return [...new Set([...unbound(plans.flatMap((plan) => accesses(plan, tables, ""))), ...inserts])].toSorted()
})
