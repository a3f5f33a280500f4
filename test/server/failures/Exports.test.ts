import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { request as httpRequest, type IncomingMessage } from "node:http"
import { ExportDeadline } from "../../../src/server/tables/TablesHttp.ts"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { BaseUrl, bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

/** An account with so much in it that an export does not fit the buffers between the service and its reader. */
const fullAccount = Effect.gen(function* () {
  const account = yield* newAccount
  const operations = Array.from({ length: 100 }, () => ({ action: "add", row: { text: "x".repeat(60_000) } }))
  const body = JSON.stringify({ operations })
  for (const table of ["a", "b"]) {
    const { status, text } = yield* request("POST", `/v1/${table}/batch`, { key: account.apiKey, body })
    assert.strictEqual(status, 200, text)
  }
  return account
})

/** An export whose reader takes the head of the answer and then no more of it. */
const openExport = Effect.fnUntraced(function* (key: string) {
  const { url } = yield* BaseUrl
  return yield* Effect.acquireRelease(
    Effect.callback<IncomingMessage>((resume) => {
      const sent = httpRequest(`${url}/v1/_export`, { agent: false, headers: { authorization: `Bearer ${key}` } })
      sent.on("error", () => undefined)
      sent.on("response", (response: IncomingMessage) => {
        response.on("error", () => undefined)
        resume(Effect.succeed(response))
      })
      sent.end()
    }),
    (response) => Effect.sync(() => response.destroy())
  )
})

const exported = (key: string) => request("GET", "/v1/_export", { key })

layer(serviceLayer(), { excludeTestServices: true, timeout: "60 seconds" })("An export", (it) => {
  it.effect("whose statement fails before the first byte is answered with 503", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const sql = yield* SqlClient.SqlClient
      const other = yield* poolOf((yield* DatabaseUrl).url)
      const answer = yield* other.withTransaction(
        Effect.gen(function* () {
          yield* other`LOCK TABLE rows IN ACCESS EXCLUSIVE MODE`
          const reading = yield* Effect.forkScoped(exported(key))
          yield* sql<{ pid: number }>`
            SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'rows'::regclass
          `.pipe(Effect.repeat({ until: (rows) => rows.length > 0, schedule: Schedule.spaced("5 millis") }))
          return yield* Fiber.join(reading)
        })
      )
      assert.strictEqual(answer.status, 503, answer.text)
      assert.strictEqual(answer.headers.get("content-type"), "application/problem+json")
      assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
      assert.strictEqual(bodyOf(answer)["code"], "unavailable")
    })
  )

  it.effect("of an empty account is an empty object of tables", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      assert.strictEqual((yield* exported(key)).text, '{"tables":{}}')
    })
  )

  it.effect("comes whole where rows that were changed by hand have ids of other lengths", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      for (const row of [{}, { n: 1 }, { n: 2 }]) {
        const { status } = yield* request("POST", "/v1/t", { key, body: JSON.stringify(row) })
        assert.strictEqual(status, 201)
      }
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE rows SET id = 'row-' || seq WHERE account_id = ${accountId}`
      const { headers, text } = yield* exported(key)
      assert.strictEqual(Number(headers.get("content-length")), Buffer.byteLength(text))
      assert.strictEqual((JSON.parse(text) as { tables: { t: Array<unknown> } }).tables.t.length, 3)
    })
  )

  it.effect("of one account is not kept waiting by the slow readers of another, of which only two are served", () =>
    Effect.gen(function* () {
      const greedy = yield* fullAccount
      const { apiKey: key } = yield* newAccount
      const readers = yield* Effect.forEach([1, 2], () => openExport(greedy.apiKey))
      const further = Effect.all(
        Array.from({ length: 6 }, () => exported(greedy.apiKey)),
        { concurrency: "unbounded" }
      )
      const [refusals, answer] = yield* Effect.all([further, exported(key)], { concurrency: "unbounded" })
      assert.strictEqual(answer.status, 200, answer.text)
      for (const refusal of refusals) {
        assert.strictEqual(refusal.status, 503)
        assert.match(refusal.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
        assert.include(bodyOf<{ detail: string }>(refusal).detail, "This account reads 2 exports already.")
      }
      for (const reader of readers) reader.destroy()
      const { status } = yield* exported(greedy.apiKey)
      assert.strictEqual(status, 200)
    })
  )
})

layer(serviceLayer().pipe(Layer.provide(Layer.succeed(ExportDeadline, "300 millis"))), {
  excludeTestServices: true,
  timeout: "60 seconds"
})("An export with a deadline", (it) => {
  it.effect("is broken off when its reader takes longer, and leaves its place to others", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* fullAccount
      const readers = yield* Effect.forEach([1, 2], () => openExport(key))
      // Only two are served at once, so that the third one's place is one of theirs; whose, is not told.
      assert.strictEqual((yield* openExport(key)).statusCode, 200)
      yield* Effect.forEach(
        readers,
        (reader) =>
          Effect.callback<void>((resume) => {
            reader.resume()
            if (reader.closed) resume(Effect.void)
            else reader.once("close", () => resume(Effect.void))
          }),
        { concurrency: "unbounded" }
      )
      assert.isTrue(readers.some((reader) => !reader.complete))
    })
  )
})
