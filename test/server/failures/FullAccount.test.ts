import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { backup, backupId, backupRow } from "../../support/Backups.ts"
import { BoundedService } from "../../support/BoundedService.ts"
import { longestBlock } from "../../support/LongestTurn.ts"
import { connectedAccount, type Account } from "../../support/ModelRun.ts"
import { call, type Reply } from "../../support/ServiceProcess.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { rpc } from "../mcp/Messages.ts"

const mib = 1_048_576
const rows = 1000
const rowBytes = Math.floor((24 * mib) / rows)
const named = 50

/** A whole account in one table, as an export has it; ids are an account's own. */
const fullTable = backup({
  big: Array.from({ length: rows }, (_, n) =>
    backupRow(n, `"kind":"note","a":0,"b":0,"c":0,"text":"${"x".repeat(rowBytes - 64)}"`)
  )
})

const times = <A>(count: number, make: (n: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, n) => make(n + 1))

const together = <A, E, R>(count: number, make: (n: number) => Effect.Effect<A, E, R>) =>
  Effect.all(times(count, make), { concurrency: "unbounded" })

interface Row {
  readonly id: string
  readonly updated_at: string
  readonly a: number
  readonly b: number
  readonly c: number
}

/** Patches leave a row as long as it is: the account has no room for more. */
const setAll = (patch: object) => ({ filter: { kind: "note" }, patch, allowMultiple: true })

/** The rows that a write's answer shows, in the order in which they were written. */
const writtenRows = (text: string): ReadonlyArray<Row> => {
  const body = JSON.parse(text) as { rows?: ReadonlyArray<Row>; results?: ReadonlyArray<{ result: object }> }
  if (body.rows !== undefined) return body.rows
  const results = (body.results ?? []).map(({ result }) => result as { row?: Row; rows?: ReadonlyArray<Row> })
  return results.flatMap(({ row, rows = [] }) => (row === undefined ? rows : [row]))
}

/** The rows of one moment: each of them has the same last change of all of them. */
const isOneMoment = (text: string): boolean =>
  ["a", "b"].every((name) => new Set(text.match(new RegExp(`"${name}":\\d`, "g"))).size === 1) &&
  text.match(/"kind":/g)?.length === rows

const isRefused = ({ status, text }: Reply): boolean =>
  status === 503 || (text.includes('"isError":true') && text.includes('\\"code\\":\\"unavailable\\"'))

/** Sends a request until it is let in: where there is no room for it now, it is told when to come again. */
const untilServed = <E>(send: Effect.Effect<Reply, E>) =>
  Effect.gen(function* () {
    let reply = yield* send
    while (isRefused(reply)) {
      // A tool's refusal has no headers: it tells in words to try again.
      const seconds = reply.status === 503 ? (reply.headers.get("retry-after") ?? "") : "1"
      assert.match(seconds, /^[1-9]\d?$/, reply.text)
      yield* Effect.sleep(`${Number(seconds)} seconds`)
      reply = yield* send
    }
    assert.strictEqual(reply.status, 200, reply.text.slice(0, 300))
    return reply.text
  })

layer(Layer.provideMerge(BoundedService.layer, serviceLayer()), { excludeTestServices: true, timeout: "240 seconds" })(
  "P34 The fullest accounts",
  (it) => {
    it.effect(
      "use all that they may at once, within 512 MB, and stall nobody",
      () =>
        Effect.gen(function* () {
          const service = yield* BoundedService
          const [full, other, third, small] = yield* together(4, () => connectedAccount)
          // A busy machine may keep the test from reading until it is hung up on, as slow readers are.
          const sent = (...request: Parameters<typeof call>) =>
            Effect.retry(call(...request), { times: 2, while: () => !service.hasEnded() })
          const send = (account: Account | undefined, path: string, body?: string) =>
            sent(service.url + path, {
              key: account!.apiKey,
              ...(body === undefined ? {} : { body }),
              ...(path.startsWith("/v1/_import") ? { headers: { "idempotency-key": "whole" } } : {})
            })
          const served = (...request: Parameters<typeof send>) => untilServed(send(...request))
          yield* served(full, "/v1/_import", fullTable)

          /** Each row as the last of the answers shows it that changed it. */
          const acknowledged = new Map<string, Row>()
          const written = (path: string, body: object) =>
            Effect.map(served(full, path, JSON.stringify(body)), (text) => {
              const shown = writtenRows(text)
              for (const row of shown) {
                const { updated_at = "" } = acknowledged.get(row.id) ?? {}
                if (row.updated_at > updated_at) acknowledged.set(row.id, row)
              }
              return shown.length
            })
          const read = (path: string) => Effect.map(served(full, path), isOneMoment)
          const queried = untilServed(
            sent(`${service.url}/mcp`, {
              key: full!.token ?? "",
              body: JSON.stringify(rpc("tools/call", { name: "query", arguments: { table: "big", limit: 1000 } })),
              headers: { accept: "application/json, text/event-stream" }
            })
          )

          yield* served(full, "/v1/big/update_row", `{"id":"${backupId(1)}","patch":{"c":1}}`)
          yield* service.strain
          let beside = 0
          const others = yield* Effect.forkScoped(
            Effect.forever(
              Effect.gen(function* () {
                const own = '{"key":"n","row":{"n":1}}'
                assert.strictEqual((yield* send(small, "/v1/notes/upsert", own)).status, 200)
                assert.strictEqual((yield* send(small, "/v1/notes?limit=5")).status, 200)
                beside++
              })
            )
          )
          const done = yield* Effect.raceFirst(
            Effect.all(
              {
                reads: together(20, () => read("/v1/big?limit=1000")),
                exports: together(4, () => read("/v1/_export")),
                updates: together(3, (a) => written("/v1/big/update_where", setAll({ a }))),
                batches: together(2, (b) => {
                  const operations = [setAll({ b }), setAll({ b: b + 2 })]
                  return written("/v1/big/batch", {
                    operations: operations.map((one) => ({ action: "update_where", ...one }))
                  })
                }),
                named: written("/v1/big/batch", {
                  operations: times(named, (n) => ({ action: "update_row", id: backupId(n), patch: { c: 1 } }))
                }),
                queries: together(4, () => queried),
                imported: served(other, "/v1/_import", fullTable),
                tried: served(third, "/v1/_import?dry_run=true", fullTable)
              },
              { concurrency: "unbounded" }
            ),
            Fiber.join(others)
          )
          const { blocked, megabytes } = yield* service.strain
          process.stdout.write(
            `held ${Math.round(megabytes)} MB, blocked ${Math.round(blocked)} ms at most, ${beside} others beside\n`
          )
          assert.isFalse(service.hasEnded(), service.output())

          assert.deepStrictEqual(
            [...done.reads, ...done.exports],
            Array.from({ length: 24 }, () => true)
          )
          assert.deepStrictEqual(done.updates, [rows, rows, rows])
          assert.deepStrictEqual(done.batches, [2 * rows, 2 * rows])
          assert.strictEqual(done.named, named)
          for (const text of done.queries) assert.match(text, /"has_more\\?":true/)
          for (const text of done.queries) assert.notInclude(text, '"isError":true')
          assert.strictEqual(done.imported, `{"tables":1,"rows":${rows}}`)
          assert.strictEqual(done.tried, done.imported)

          const held = (JSON.parse(yield* served(full, "/v1/big?limit=1000")) as { rows: ReadonlyArray<Row> }).rows
          assert.deepStrictEqual(
            held.map(({ id }) => id),
            times(rows, (n) => backupId(n - 1))
          )
          const wrong = held.filter((row) => JSON.stringify(row) !== JSON.stringify(acknowledged.get(row.id)))
          assert.deepStrictEqual(
            wrong.map(({ id }) => id),
            []
          )
          const last = held[0]!
          assert.include([1, 2, 3], last.a)
          assert.include([3, 4], last.b)
          for (const [n, { a, b, c }] of held.entries()) {
            assert.deepStrictEqual([a, b, c], [last.a, last.b, n >= 1 && n <= named ? 1 : 0])
          }
          assert.isTrue((yield* served(other, "/v1/_export")) === fullTable)
          assert.strictEqual(yield* served(third, "/v1/_export"), '{"tables":{}}')
          assert.isAbove(beside, done.reads.length)
          assert.isBelow(megabytes, 512)
          assert.isAtMost(blocked, longestBlock())
        }),
      240_000
    )
  }
)
