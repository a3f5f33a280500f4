import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { done, newConnection, refused } from "../../support/Mcp.ts"
import { showing } from "../../support/Statements.ts"
import {
  BaseUrl,
  bodyOf,
  newAccount,
  request,
  serviceLayer,
  serviceOn,
  type Answer
} from "../../support/TestService.ts"

/** What the statements were for, in order, since it was emptied. */
const sent: Array<string> = []
const noting = showing((text) =>
  Effect.sync(() => {
    if (text.includes("take_free_token")) sent.push("admission")
    else if (text.startsWith("WITH wanted AS")) sent.push("commit")
    else sent.push(text)
  })
)

const variables = { LIMIT_ROWS_PER_TABLE: "8" }

/** Sends what it is given to another instance of the service on the suite's database. */
const elsewhere = Effect.gen(function* () {
  const { url } = yield* DatabaseUrl
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
  const other = Context.get(yield* Layer.build(Layer.fresh(serviceOn(Layer.fresh(pool), variables))), BaseUrl)
  return <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, BaseUrl, other)
})

interface Caller {
  readonly key: string
  readonly headers?: Record<string, string>
}

const post = ({ headers, key }: Caller, path: string, body: object, method = "POST") =>
  request(method, `/v1/t${path}`, { key, headers, body: JSON.stringify(body) })

const idOf = (answer: Answer) => bodyOf<{ id: string }>(answer).id

/** Adds rows numbered from 1 on, half of them in group `a`, and reads the table until it is in memory. */
const fill = Effect.fnUntraced(function* (key: string, count: number) {
  const ids: Array<string> = []
  for (let n = 1; n <= count; n++) {
    const answer = yield* post({ key }, "", { n, g: n % 2 === 1 ? "a" : "b" })
    assert.strictEqual(answer.status, 201, answer.text)
    ids.push(idOf(answer))
  }
  yield* intoMemory(key)
  return ids
})

const intoMemory = Effect.fnUntraced(function* (key: string) {
  for (let n = 0; n < 3; n++) {
    sent.length = 0
    yield* request("GET", "/v1/t", { key })
  }
  assert.deepStrictEqual(sent, ["admission"], "the table is in memory")
})

layer(serviceLayer(variables).pipe(Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, noting))), {
  excludeTestServices: true
})("Writes of a table in memory", (it) => {
  for (const idempotent of [false, true]) {
    it.effect(`send a commit behind their admission, and nothing else${idempotent ? ", with a key too" : ""}`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const ids = yield* fill(key, 6)
        let calls = 0
        const expectTwo = Effect.fnUntraced(function* (path: string, body: object, method?: string) {
          const headers = idempotent ? { "idempotency-key": `once ${calls++}` } : {}
          sent.length = 0
          const answer = yield* post({ key, headers }, path, body, method)
          assert.strictEqual(answer.status, 200, answer.text)
          assert.deepStrictEqual(sent, ["admission", "commit"], `${path} ${JSON.stringify(body)}`)
        })
        for (let round = 0; round < 3; round++) {
          yield* expectTwo("/update_row", { id: ids[0], patch: { round } })
          yield* expectTwo("/upsert", { key: "n", row: { n: 2, g: "b", round } })
          yield* expectTwo("/upsert", { key: ["n", "g"], row: { n: 10 + round, g: "c" } })
          yield* expectTwo("/update_where", { filter: { g: "a" }, patch: { round }, allowMultiple: true })
          yield* expectTwo("/update_where", { filter: { id: ids[1] }, patch: { round: -round } })
          yield* expectTwo("/batch", {
            operations: [
              { action: "update_row", id: ids[4], patch: { round } },
              { action: "delete", filter: { g: "c" } }
            ]
          })
          yield* expectTwo("", { filter: { id: ids[2 + round] } }, "DELETE")
        }
        yield* expectTwo("", { filter: { g: "b" } }, "DELETE")
        sent.length = 0
        const { rows } = bodyOf<{ rows: ReadonlyArray<object> }>(yield* request("GET", "/v1/t", { key }))
        assert.deepStrictEqual(sent, ["admission"], "the table is in memory still")
        assert.lengthOf(rows, 1)
      })
    )
  }

  it.effect("are refused or done as the rows are that another instance has changed meanwhile", () =>
    Effect.gen(function* () {
      const there = yield* elsewhere
      const { apiKey: key } = yield* newAccount
      const ids = yield* fill(key, 4)
      const caller = { key }
      const updateA = post(caller, "/update_where", { filter: { g: "a" }, patch: { x: 1 } })
      const codeOf = (answer: Answer) => bodyOf(answer)["code"]

      // Two rows match here; one does there.
      yield* there(post(caller, "/update_row", { id: ids[0], patch: { g: "b" } }))
      assert.include(yield* updateA, { status: 200 })
      yield* intoMemory(key)
      // One row matches here; two do there.
      yield* there(post(caller, "/update_row", { id: ids[0], patch: { g: "a" } }))
      assert.deepInclude(bodyOf<object>(yield* updateA), { code: "multiple_matches", matches: 2 })
      yield* intoMemory(key)
      // A row that is here is gone there, and comes back.
      yield* there(post(caller, "", { filter: { id: ids[1] } }, "DELETE"))
      assert.strictEqual(codeOf(yield* post(caller, "/update_row", { id: ids[1], patch: {} })), "row_not_found")
      yield* intoMemory(key)
      yield* there(post(caller, "/restore", { id: ids[1], version: 1 }))
      assert.include(yield* post(caller, "/update_row", { id: ids[1], patch: { y: 1 } }), { status: 200 })
      yield* intoMemory(key)
      // A key that no row has here has one there.
      const added = idOf(yield* there(post(caller, "", { n: 9, g: "d" })))
      const upserted = bodyOf<{ row: { id: string } }>(
        yield* post(caller, "/upsert", { key: "n", row: { n: 9, g: "e" } })
      )
      assert.strictEqual(upserted.row.id, added)
      yield* intoMemory(key)
      // The table is full here, and has room there; then the other way round.
      for (let n = 20; n < 23; n++) assert.include(yield* post(caller, "", { n }), { status: 201 })
      yield* intoMemory(key)
      assert.strictEqual(codeOf(yield* post(caller, "/upsert", { key: "n", row: { n: 30 } })), "row_limit")
      yield* there(post(caller, "", { filter: { n: 20 } }, "DELETE"))
      assert.include(yield* post(caller, "/upsert", { key: "n", row: { n: 30 } }), { status: 200 })
      yield* post(caller, "", { filter: { n: 21 } }, "DELETE")
      yield* there(post(caller, "", { n: 21 }))
      assert.strictEqual(codeOf(yield* post(caller, "/upsert", { key: "n", row: { n: 31 } })), "row_limit")
    })
  )

  it.effect("are told in a dry run as the rows are that another instance has changed meanwhile", () =>
    Effect.gen(function* () {
      const there = yield* elsewhere
      const { apiKey: key, token } = yield* newConnection()
      const ids = yield* fill(key, 4)
      const caller = { key }
      const dry = { table: "t", filter: { g: "a" }, dryRun: true }
      const dryUpdate = { ...dry, patch: { x: 1 }, allowMultiple: true }
      const expect = Effect.fnUntraced(function* (expected: ReadonlyArray<string | undefined>) {
        const told = { dry_run: true, matched: expected.length, ids: expected, has_more: false }
        assert.deepStrictEqual(yield* done(token, "delete", dry), told)
        assert.deepStrictEqual(yield* done(token, "update_where", dryUpdate), told)
      })
      yield* expect([ids[0], ids[2]])
      yield* intoMemory(key)
      yield* there(post(caller, "/update_row", { id: ids[0], patch: { g: "b" } }))
      yield* expect([ids[2]])
      yield* intoMemory(key)
      yield* there(post(caller, "/update_row", { id: ids[1], patch: { g: "a" } }))
      yield* expect([ids[1], ids[2]])
      yield* intoMemory(key)
      yield* there(post(caller, "", { filter: { id: ids[2] } }, "DELETE"))
      const call = { table: "t", id: ids[2], patch: {}, dryRun: true }
      assert.deepInclude(yield* refused(token, "update_row", { ...call, dryRun: undefined }), { code: "row_not_found" })
      yield* expect([ids[1]])
    })
  )
})
