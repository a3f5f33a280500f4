import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { parseFilter, parseSort } from "../../../src/domain/Query.ts"
import type { JsonText } from "../../../src/domain/json/JsonText.ts"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { rowText, type Row } from "../../../src/domain/Row.ts"
import type { CachedRow, CachedTable, TableChange } from "../../../src/server/tables/engine/cache/CachedTable.ts"
import { makeCacheReads } from "../../../src/server/tables/engine/cache/TableCache.ts"
import type { AccountId } from "../../../src/domain/Account.ts"
import { Writes, type BatchOperation } from "../../../src/server/tables/Writes.ts"
import { makeStoredRows } from "../../../src/server/tables/StoredRows.ts"
import { pick, randomFrom, spellJson, spellString, type Random } from "../../domain/json/RandomJson.ts"
import { atOnce } from "../../support/CachedRows.ts"
import { callerNow } from "../../support/Instances.ts"
import { seeds } from "../../support/ModelPlays.ts"
import { matches, sorted, type Fields } from "../../support/ModelValues.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const names = ["a", "b", "k", "é b", "__proto__", "x\u0000y", "-neg", "absent"]
const prefix = "é".repeat(220)

/** What JavaScript's own values tell apart as the service does. */
const plainValues = [
  "0",
  "-0",
  "1",
  "1.0",
  "10",
  "2",
  "-1.5",
  "1e3",
  '""',
  '"1"',
  '"a"',
  String.raw`"\u0061"`,
  '"Z"',
  '"😀"',
  String.raw`"\uffff"`,
  String.raw`"\ud800"`,
  String.raw`"\u0000"`,
  `"${prefix}a"`,
  `"${prefix}b"`,
  `"${prefix}"`,
  "true",
  "false",
  "null"
]
const deepValues = ["[]", "{}", '[1,{"a":null}]', '{"a":{"a":1}}']
const oddNumbers = ["1e400", "-1e400", "1e-400", "9007199254740993", "9007199254740992", "1e5", "100000", "0.1e6"]

const scalar = (random: Random, isPlain: boolean): string => {
  if (isPlain || random(2) === 0) return pick(random, plainValues)
  if (random(2) === 0) return pick(random, oddNumbers)
  return scan(spellJson(random, 0).text).value!.text
}

const object = (members: ReadonlyArray<string>): JsonText => scan(`{${members.join()}}`).value!

const fields = (random: Random, isPlain: boolean, most: number): ReadonlyArray<string> =>
  names.slice(0, -1).flatMap((name) => {
    if (random(names.length) >= most) return []
    const value = random(5) === 0 ? pick(random, deepValues) : scalar(random, isPlain)
    return [`${spellString(random, name)}:${value}`]
  })

// Few moments for many rows, so that most of them share theirs.
const moment = (random: Random, year: number): string => `${year}-01-01T00:00:00.${String(random(4)).padStart(3, "0")}Z`

const importedRow = (random: Random, isPlain: boolean): JsonText => {
  const id = `0190d0c0-${String(random(10_000)).padStart(4, "0")}-7000-8000-${String(random(1e9)).padStart(12, "0")}`
  const system = [`"id":"${id}"`, `"created_at":"${moment(random, 2024)}"`, `"updated_at":"${moment(random, 2025)}"`]
  return object([...system, ...fields(random, isPlain, 5)])
}

const randomFilter = (random: Random, isPlain: boolean, rows: ReadonlyArray<Row>): JsonText | undefined => {
  if (random(4) === 0) return random(4) === 0 ? object([]) : undefined
  const row = rows.length === 0 ? undefined : pick(random, rows)
  const chosen = new Map<string, string>()
  for (let n = random(3); n >= 0; n--) {
    const kind = random(12)
    const created = row === undefined ? moment(random, 2024) : new Date(row.createdAt).toISOString()
    const updated = row === undefined ? moment(random, 2025) : new Date(row.updatedAt).toISOString()
    if (kind === 0) chosen.set("id", `"${row?.id ?? "none"}"`)
    else if (kind === 1) chosen.set("created_at", `"${created}"`)
    else if (kind === 2) chosen.set("updated_at", `"${updated}"`)
    else if (kind === 3) chosen.set(pick(random, ["id", "created_at"]), pick(random, ["1", '"x"', "null"]))
    else chosen.set(pick(random, names), scalar(random, isPlain))
  }
  return object([...chosen].map(([name, value]) => `${spellString(random, name)}:${value}`))
}

const randomSort = (random: Random): string | undefined => {
  if (random(5) === 0) return undefined
  const field = random(3) === 0 ? pick(random, ["id", "created_at", "updated_at"]) : pick(random, names)
  return (field.startsWith("-") || random(2) === 0 ? "-" : "") + field
}

const shownText = (rows: ReadonlyArray<Row>): string => rows.map((row) => rowText(row).text).join("\n")

const parsed = (rows: ReadonlyArray<Row>): ReadonlyArray<Fields> =>
  rows.map((row) => JSON.parse(rowText(row).text) as Fields)

/** What makes the one table of the other. */
const difference = (before: CachedTable, after: CachedTable): TableChange => ({
  stored: after.rows.filter((row) => {
    const known = before.find(row.id)
    return known === undefined || known.lastVersion !== row.lastVersion
  }),
  removed: before.rows.flatMap(({ id }) => (after.find(id) === undefined ? [id] : []))
})

const randomOperations = (random: Random, rows: ReadonlyArray<Row>): ReadonlyArray<BatchOperation> =>
  Array.from({ length: 1 + random(random(4) === 0 ? 60 : 4) }, (): BatchOperation => {
    const kind = random(rows.length === 0 ? 1 : 5)
    const row = rows.length === 0 ? undefined : pick(random, rows)
    if (kind < 2 || row === undefined) return { action: "add", row: object(fields(random, false, 5)) }
    const filter = object([`"id":"${row.id}"`])
    if (kind === 2) return { action: "delete", filter }
    return { action: "update_where", filter, patch: object(fields(random, false, 3)), allowMultiple: true }
  })

const tableOf = Effect.fnUntraced(function* (accountId: AccountId, table: string) {
  const sql = yield* SqlClient.SqlClient
  const loaded = yield* makeCacheReads(sql).load(accountId, table, Number.MAX_SAFE_INTEGER)
  return loaded!.table!
})

/** Asks the database, the table in memory and, where it knows the values, the model for the same rows. */
const compare = Effect.fnUntraced(function* (
  random: Random,
  isPlain: boolean,
  accountId: AccountId,
  name: string,
  table: CachedTable
) {
  const repo = makeStoredRows(yield* SqlClient.SqlClient)
  const filterText = randomFilter(random, isPlain, table.rows)
  const filter = filterText === undefined ? undefined : Result.getOrThrow(parseFilter(filterText, "filter"))
  const sortText = randomSort(random)
  const sort = sortText === undefined ? undefined : parseSort(sortText)
  const limit = 1 + random(random(2) === 0 ? 5 : 100)
  const offset = random(3) === 0 ? random(8) : 0
  const told = `MODEL_SEED=${name.slice(1)}: ${filterText?.text ?? "every row"} by ${sortText ?? "insertion"}, ${limit} behind ${offset}`
  const fromDatabase = Effect.gen(function* () {
    if (filter?.isImpossible === true) return { rows: [], count: 0 }
    const query = { filter, sort, limit: offset + limit }
    const { rows } = yield* repo.query(accountId, name, query, Number.MAX_SAFE_INTEGER)
    return { rows, count: yield* repo.count(accountId, name, filter) }
  })
  const { count, rows } = yield* fromDatabase
  const found = atOnce(table.query({ filter, sort, limit: offset + limit }))
  assert.strictEqual(shownText(found.rows), shownText(rows.slice(0, offset + limit)), told)
  assert.strictEqual(found.hasMore, rows.length > offset + limit, told)
  assert.strictEqual(atOnce(table.count(filter)), count, told)
  if (isPlain) {
    const wanted = filterText === undefined ? {} : (JSON.parse(filterText.text) as Fields)
    const inModel = sorted(
      parsed(table.rows).filter((row) => matches(row, wanted)),
      sortText
    )
    assert.deepStrictEqual(parsed(found.rows), inModel.slice(0, offset + limit), told)
  }
})

const services = servicesLayer({ LIMIT_TABLES: "1000", LIMIT_BATCH_OPERATIONS: "100" })

layer(services, { excludeTestServices: true })("A table in memory", (it) => {
  it.effect(
    "answers random queries with the bytes of the database, and the rows of the model",
    () =>
      Effect.gen(function* () {
        const imports = yield* Writes
        const { accountId } = yield* newAccount
        for (const seed of yield* seeds(60)) {
          const random = randomFrom(seed)
          const isPlain = random(2) === 0
          const rows = Array.from({ length: random(4) === 0 ? random(3) : random(50) }, () =>
            importedRow(random, isPlain)
          )
          const name = `t${seed}`
          yield* imports.import(...(yield* callerNow(accountId, name)), { [name]: rows })
          const table = yield* tableOf(accountId, name)
          for (let n = 0; n < 20; n++) {
            yield* compare(random, isPlain, accountId, name, table)
          }
        }
      }),
    120_000
  )

  it.effect(
    "answers so too once it has taken over what commits did, with what it had learned before",
    () =>
      Effect.gen(function* () {
        const imports = yield* Writes
        const rowWrites = yield* Writes
        const { accountId } = yield* newAccount
        for (const seed of yield* seeds(20)) {
          const random = randomFrom(seed)
          const name = `t${seed}`
          const rows = Array.from({ length: random(50) }, () => importedRow(random, false))
          yield* imports.import(...(yield* callerNow(accountId, name)), { [name]: rows })
          let table = yield* tableOf(accountId, name)
          let deleted: ReadonlyArray<CachedRow> = []
          for (let round = 0; round < 8; round++) {
            for (let n = 0; n < 8; n++) yield* compare(random, false, accountId, name, table)
            const caller = yield* callerNow(accountId, name)
            yield* rowWrites.batch(...caller, randomOperations(random, table.rows))
            if (random(2) === 0 && deleted.length > 0) {
              // It comes back where it was, which may be in the midst of others.
              const { id, lastVersion } = pick(random, deleted)
              yield* rowWrites.write(...caller, { action: "restore", id, version: lastVersion + 1 })
            }
            const stored = yield* tableOf(accountId, name)
            const before = shownText(table.rows)
            const change = difference(table, stored)
            deleted = [...deleted, ...change.removed.map((id) => table.find(id)!)].filter(
              ({ id }) => stored.find(id) === undefined
            )
            const next = table.apply(change)
            assert.strictEqual(shownText(table.rows), before, "a table never changes")
            assert.deepStrictEqual(next.rows, stored.rows)
            for (const one of [table, next]) for (const row of one.rows) assert.strictEqual(one.find(row.id), row)
            table = next
          }
        }
      }),
    120_000
  )
})
