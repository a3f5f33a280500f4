import { assert, layer } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { newConnection } from "../../support/Mcp.ts"
import { call, startService, type Reply, type ServiceProcess } from "../../support/ServiceProcess.ts"
import { localHeadersOf } from "../../support/LocalSecrets.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { rpc } from "./Messages.ts"

const timeout = 90_000

/** A process of the service on the suite's database, at the address that the suite's tokens are for. */
const startInstance = Effect.gen(function* () {
  const { url } = yield* DatabaseUrl
  return yield* startService({ DATABASE_URL: url, BASE_URL: "http://localhost:3000" })
})

const send = ({ url }: ServiceProcess, token: string, message: object) =>
  call(`${url}/mcp`, {
    key: token,
    body: JSON.stringify(message),
    headers: { accept: "application/json" }
  })

const add = (service: ServiceProcess, token: string, n: number) =>
  send(service, token, rpc("tools/call", { name: "add", arguments: { table: "t", row: { n } } }, n))

const numbers = Effect.fnUntraced(function* (service: ServiceProcess, token: string) {
  const { text } = yield* send(
    service,
    token,
    rpc("tools/call", { name: "query", arguments: { table: "t", limit: 1000 } })
  )
  const { result } = JSON.parse(text) as { result: { structuredContent: { rows: ReadonlyArray<{ n: number }> } } }
  return result.structuredContent.rows.map(({ n }) => n).toSorted((a, b) => a - b)
})

const isStored = ({ status, text }: Reply) => status === 200 && text.includes("structuredContent")

/** What came of a call: stored, or refused in a way that tells the client to try again. */
const outcomeOf = (reply: Reply) =>
  isStored(reply)
    ? "stored"
    : reply.status === 503 && reply.headers.has("retry-after")
      ? "refused"
      : `${reply.status} ${reply.text}`

/** A connection that is not let in has told nothing; one that is reset leaves its client without an answer. */
const refusedOrLost = (code: string) => (code.includes("ECONNREFUSED") ? "refused" : code)

layer(serviceLayer(), { excludeTestServices: true, timeout })("Instances", (it) => {
  it.effect(
    "46 finish the calls that a stop finds begun, and refuse new ones",
    () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        const sql = yield* SqlClient.SqlClient
        const first = yield* startInstance
        yield* add(first, token, 0)
        const admin = yield* poolOf((yield* DatabaseUrl).url)
        const calls = yield* admin.withTransaction(
          Effect.gen(function* () {
            yield* admin`LOCK TABLE rows IN ACCESS EXCLUSIVE MODE`
            const calls = yield* Effect.forkScoped(
              Effect.forEach(
                Array.from({ length: 50 }, (_, n) => n + 1),
                (n) => add(first, token, n),
                { concurrency: "unbounded" }
              )
            )
            // They wait for the lock or for their turn; the one request more asks for this count.
            yield* Effect.repeat(
              Effect.map(call(`${first.url}/metrics`, { headers: localHeadersOf(first.url) }), ({ text }) =>
                /requests_in_flight 51$/m.test(text)
              ),
              { until: (isSo) => isSo, schedule: Schedule.spaced("20 millis") }
            ).pipe(Effect.timeout("30 seconds"))
            yield* first.signal("SIGTERM")
            // Whoever comes now is told to come again, until the calls are answered.
            yield* Effect.repeat(call(`${first.url}/health`), { until: ({ status }) => status === 503 })
            const late = yield* Effect.all([add(first, token, 51), call(`${first.url}/v1/t`)])
            assert.deepStrictEqual(late.map(outcomeOf), ["refused", "refused"])
            assert.property(JSON.parse(late[0].text), "error")
            assert.propertyVal(JSON.parse(late[1].text), "code", "unavailable")
            return calls
          })
        )
        const replies = yield* Fiber.join(calls)
        assert.deepStrictEqual([...new Set(replies.map(outcomeOf))], ["stored"])
        assert.strictEqual(yield* first.ended.pipe(Effect.timeout("30 seconds")), 0, first.output())
        assert.lengthOf(yield* sql`SELECT 1 FROM rows`, 51)
      }),
    timeout
  )

  it.effect(
    "46 P11 do what they said to each of 50 calls that a stop comes upon, and know the same tokens after it",
    () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        const first = yield* startInstance
        let answered = 0
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, n) => n),
          (n) =>
            add(first, token, n).pipe(
              Effect.map(outcomeOf),
              Effect.catchTag("Disconnected", ({ code }) => Effect.succeed(refusedOrLost(code))),
              Effect.tap(() => (++answered === 10 ? first.signal("SIGTERM") : Effect.void)),
              Effect.map((outcome) => ({ n, outcome }))
            ),
          { concurrency: 25 }
        )
        assert.strictEqual(yield* first.ended.pipe(Effect.timeout("30 seconds")), 0, first.output())
        assert.isEmpty(outcomes.filter(({ outcome }) => outcome !== "stored" && outcome !== "refused"))
        const second = yield* startInstance
        assert.deepStrictEqual(
          yield* numbers(second, token),
          outcomes.flatMap(({ n, outcome }) => (outcome === "stored" ? [n] : []))
        )
      }),
    timeout
  )

  it.effect(
    "46 serve one client in turn, in both eras",
    () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        const instances = [yield* startInstance, yield* startInstance]
        let turn = 0
        const inTurn = (_: unknown, init?: RequestInit) =>
          fetch(`${instances[turn++ % instances.length]!.url}/mcp`, init)
        for (const versionNegotiation of [{ mode: "legacy" }, { mode: { pin: "2026-07-28" } }] as const) {
          const client = new Client({ name: "test", version: "1" }, { versionNegotiation })
          const transport = new StreamableHTTPClientTransport(new URL("http://localhost:3000/mcp"), {
            fetch: inTurn,
            requestInit: { headers: { authorization: `Bearer ${token}` } }
          })
          const begun = turn
          yield* Effect.promise(async () => {
            await client.connect(transport as Parameters<Client["connect"]>[0])
            for (let n = 0; n < 6; n++) {
              const table = `t${versionNegotiation.mode === "legacy" ? 1 : 2}`
              await client.callTool({ name: "add", arguments: { table, row: { n } } })
              const { structuredContent } = await client.callTool({ name: "count", arguments: { table } })
              assert.deepInclude(structuredContent, { count: n + 1 })
            }
            await client.close()
          })
          assert.isAtLeast(turn - begun, 12)
        }
      }),
    timeout
  )
})
