import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Metric, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { connect } from "node:net"
import { Terminal } from "../../support/Captured.ts"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { done, newConnection } from "../../support/Mcp.ts"
import { BaseUrl, metricsText, serviceLayer } from "../../support/TestService.ts"
import { meta, protocolVersion, rpc } from "./Messages.ts"
import { within } from "../../support/OwnTime.ts"

const modern = (name: string) => ({
  "mcp-protocol-version": protocolVersion,
  "mcp-method": "tools/call",
  "mcp-name": name
})

/** Sends a call, and gives what makes its client go away. */
const begin = Effect.fnUntraced(function* (
  token: string,
  name: string,
  args: object,
  headers: Record<string, string> = {}
) {
  const { port } = new URL((yield* BaseUrl).url)
  const isModern = "mcp-method" in headers
  const body = JSON.stringify(rpc("tools/call", { name, arguments: args, ...(isModern ? { _meta: meta } : {}) }))
  const head = Object.entries({
    host: "localhost",
    authorization: `Bearer ${token}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...headers
  }).map((pair) => pair.join(": "))
  const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined)
  socket.write(`POST /mcp HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${body}`)
  return { leave: Effect.sync(() => void socket.destroy()) }
})

/** Waits until something is so; not for so long that a statement would be given up by itself. */
const until = <E, R>(holds: Effect.Effect<boolean, E, R>) =>
  Effect.repeat(holds, { until: (isSo) => isSo, schedule: Schedule.spaced("20 millis") }).pipe(within(3000))

const isWaiting = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const waiting = yield* sql`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
  `
  return waiting.length > 0
})

/** Runs an effect while nobody else can read or write rows. */
const withRowsLocked = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const admin = yield* poolOf((yield* DatabaseUrl).url)
    return yield* admin.withTransaction(Effect.andThen(admin`LOCK TABLE rows IN ACCESS EXCLUSIVE MODE`, effect))
  })

const wasLogged = (text: string) => Effect.map(Terminal, ({ lines }) => lines.some((line) => line.includes(text)))

layer(
  serviceLayer({ LOG_LEVEL: "info", LOG_FORMAT: "json" }).pipe(
    Layer.provideMerge(Terminal.layer),
    Layer.provideMerge(Layer.sync(Metric.MetricRegistry, () => new Map()))
  ),
  { excludeTestServices: true }
)("When a client goes away", (it) => {
  for (const [era, headers] of [
    ["legacy", {}],
    ["modern", modern("query")]
  ] as const) {
    it.effect(`27 its call is given up, down to the statement (${era})`, () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        yield* done(token, "add", { table: "t", row: {} })
        const { lines } = yield* Terminal
        lines.splice(0)
        yield* withRowsLocked(
          Effect.gen(function* () {
            const { leave } = yield* begin(token, "query", { table: "t" }, headers)
            yield* until(isWaiting)
            yield* leave
            yield* until(Effect.map(isWaiting, (waits) => !waits))
            yield* until(wasLogged("mcp.query 499"))
          })
        )
        assert.deepInclude(yield* done(token, "count", { table: "t" }), { count: 1 })
      })
    )
  }

  it.effect("27 P13 its write is dropped before its turn, and finished once begun; others go on", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const queued = Effect.map(metricsText, (text) => /write_queue_length 1$/m.test(text))
      yield* withRowsLocked(
        Effect.gen(function* () {
          const first = yield* begin(token, "add", { table: "t", row: { n: 1 } })
          yield* until(isWaiting)
          const second = yield* begin(token, "add", { table: "t", row: { n: 2 } })
          yield* until(queued)
          const { lines } = yield* Terminal
          lines.splice(0)
          yield* second.leave
          yield* until(wasLogged("mcp.add 499"))
          lines.splice(0)
          yield* first.leave
          yield* until(wasLogged("mcp.add 499"))
        })
      )
      yield* done(token, "add", { table: "t", row: { n: 3 } })
      const { rows } = (yield* done(token, "query", { table: "t" })) as { rows: ReadonlyArray<{ n: number }> }
      assert.deepStrictEqual(
        rows.map(({ n }) => n),
        [1, 3]
      )
    })
  )
})
