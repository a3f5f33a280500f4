import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { AccountId } from "../../../src/domain/Account.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { parseFilter, parseSort } from "../../../src/domain/Query.ts"
import { parseCursor, type Bound } from "../../../src/domain/query/Cursor.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { Writes, type BatchOperation } from "../../../src/server/tables/Writes.ts"
import { pick, randomFrom, type Random } from "../../domain/json/RandomJson.ts"
import { actorNow, anotherInstance, callerNow } from "../../support/Instances.ts"
import { seeds } from "../../support/ModelPlays.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const values = [
  "0",
  "-0",
  "1e400",
  "1e999999999",
  "-1.10",
  '"a"',
  String.raw`"\u0000"`,
  String.raw`"\ud800"`,
  `"${"é".repeat(220)}a"`,
  `"${"é".repeat(220)}b"`,
  "null",
  "true",
  "[]"
]
const sorts = [undefined, "id", "-id", "created_at", "-created_at", "updated_at", "-updated_at", "v", "-v", "nowhere"]

const json = JsonText.trusted
const newRow = (random: Random) =>
  json(random(6) === 0 ? `{"g":${random(2)}}` : `{"g":${random(2)},"v":${pick(random, values)}}`)

interface Page {
  readonly rows: ReadonlyArray<{ readonly id: string }>
  readonly has_more: boolean
  readonly next_cursor?: string
}

const page = Effect.fnUntraced(function* (
  rows: Rows["Service"],
  accountId: AccountId,
  bound: Bound,
  limit: number,
  cursor: string | undefined
) {
  const { filter, sort, table } = bound
  const query = {
    filter: filter === undefined ? undefined : Result.getOrThrow(parseFilter(json(filter), "filter")),
    sort: sort === undefined ? undefined : parseSort(sort),
    limit,
    after: cursor === undefined ? undefined : Result.getOrThrow(parseCursor(cursor, bound))
  }
  const { text } = yield* rows.query(yield* actorNow(accountId), {
    bound: { ...bound, table },
    query,
    selection: undefined
  })
  return JSON.parse(text) as Page
})

const services = servicesLayer({ LIMIT_TABLES: "1000" })

layer(services, { excludeTestServices: true })("Pages of a query", (it) => {
  it.effect(
    "P39 have each row that is there all the while exactly once and none twice, for every sort, from memory and by SQL, whatever others write between them",
    () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const writes = yield* Writes
        // The one reads by SQL alone, the other from memory from the second page on.
        const bySql = (yield* anotherInstance({ CACHE_BYTES: "0" })).rows
        const readers = [bySql, yield* Rows]
        for (const seed of yield* seeds(60)) {
          const random = randomFrom(seed)
          const table = `t${seed}`
          const run = Effect.fnUntraced(function* (operations: ReadonlyArray<BatchOperation>) {
            if (operations.length > 0) yield* writes.batch(...(yield* callerNow(accountId, table)), operations)
          })
          yield* run(Array.from({ length: 1 + random(40) }, () => ({ action: "add", row: newRow(random) }) as const))
          const filter = random(3) === 0 ? '{"g":1}' : undefined
          const bound: Bound = { table, filter, search: undefined, sort: pick(random, sorts) }
          const everyRow = { ...bound, sort: undefined }
          const first = yield* page(bySql, accountId, everyRow, 1000, undefined)
          const there = new Set(first.rows.map(({ id }) => id))
          const seen: Array<string> = []
          const deleted: Array<string> = []
          let cursor: string | undefined
          do {
            const found: Page = yield* page(pick(random, readers), accountId, bound, 1 + random(8), cursor)
            seen.push(...found.rows.map(({ id }) => id))
            cursor = found.next_cursor
            assert.strictEqual(found.has_more, cursor !== undefined)
            const ids = [...there, ...deleted]
            const changes = Array.from({ length: random(4) }, (): BatchOperation => {
              const kind = random(4)
              if (ids.length === 0 || (kind === 0 && seen.length < 100)) return { action: "add", row: newRow(random) }
              const id = pick(random, ids)
              const byId = json(`{"id":"${id}"}`)
              if (kind === 1) {
                there.delete(id)
                deleted.push(id)
                return { action: "delete", filter: byId }
              }
              const patch = json(`{"v":${pick(random, values)}}`)
              return { action: "update_where", filter: byId, patch, allowMultiple: true }
            })
            yield* run(changes)
            const back = deleted.length > 0 && random(3) === 0 ? pick(random, deleted) : undefined
            if (back !== undefined) {
              const caller = yield* callerNow(accountId, table)
              yield* Effect.ignore(writes.write(...caller, { action: "restore", id: back, version: 1 }))
            }
          } while (cursor !== undefined)
          const told = `MODEL_SEED=${seed} by ${bound.sort}`
          assert.strictEqual(new Set(seen).size, seen.length, told)
          for (const id of there) assert.include(seen, id, told)
        }
      }),
    120_000
  )

  it.effect("end in a note where the rows given are too many and too scattered for a cursor", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rows = yield* Rows
      const writes = yield* Writes
      for (let n = 0; n < 3; n++) {
        yield* writes.write(...(yield* callerNow(accountId, "t")), { action: "add", row: newRow(randomFrom(n)) })
      }
      const bound: Bound = { table: "t", filter: undefined, search: undefined, sort: "v" }
      // No row has these places.
      const runs = Array.from({ length: 6000 }, (_, index) => [1e9 + 3 * index, 1e9 + 3 * index] as const)
      const query = { filter: undefined, sort: parseSort("v"), limit: 1, after: { kind: "given", runs } as const }
      const { text } = yield* rows.query(yield* actorNow(accountId), { bound, query, selection: undefined })
      const found = JSON.parse(text) as Page & { readonly note: string }
      assert.deepInclude(found, { has_more: true })
      assert.notProperty(found, "next_cursor")
      assert.include(found.note, "Sort by created_at or id")
    })
  )
})
