import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { operations } from "../server/wire/Operations.ts"
import { jsonOf, wire } from "../server/wire/Wire.ts"
import { BoundedService } from "../support/BoundedService.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../support/Database.ts"
import { makeProxy, type DatabaseProxy } from "../support/DatabaseProxy.ts"
import { call } from "../support/ServiceProcess.ts"
import { localHeaders, newAccount, serviceLayer, serviceOn } from "../support/TestService.ts"
import { add, addAll, countOf, post, rowsOf, versionsOf, type RowBody } from "./Calls.ts"
import { mostWhileAway, timed } from "../support/OwnTime.ts"

/** The suite's database through a pool that has only one connection: who needs a second one waits for ever. */
const OneConnection = Layer.effect(
  SqlClient.SqlClient,
  Effect.gen(function* () {
    const { url } = yield* DatabaseUrl
    return yield* PgClient.make({ url: Redacted.make(url), maxConnections: 1 })
  })
).pipe(Layer.provide(Reactivity.layer))

layer(serviceOn(OneConnection.pipe(Layer.provideMerge(DatabaseLayer))), { excludeTestServices: true })((it) => {
  // https://github.com/HugoRCD/shelve/pull/687, https://github.com/BuilderIO/agent-native/pull/4779
  it.effect("C04 needs no second connection in any operation, succeeding or failing, alone or with others", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(key, "notes", ['{"n":1,"kind":"a"}', '{"n":2,"kind":"a"}'])
      const [row] = yield* rowsOf(key, "notes")
      const samples = Object.values(operations).flatMap(({ refusals, success }) => [
        success[1],
        ...Object.values(refusals)
      ])
      let people = 0
      const token = Effect.gen(function* () {
        const link = yield* wire("POST", "/auth/magic-link", {
          body: `{"email":"person${people++}@example.com"}`,
          headers: yield* localHeaders
        })
        return /token=([^"]+)/.exec(link.text)![1]!
      })
      const send = Effect.fnUntraced(function* ([method, path, text]: (typeof samples)[number]) {
        const signsIn = text?.includes("$token") === true
        const body = text?.replace("$id", row!.id).replace("$token", signsIn ? yield* token : "")
        const answer = yield* wire(method, path.replace("$id", row!.id), { key, body })
        if (signsIn) assert.strictEqual(answer.status, 200, answer.text)
        assert.isBelow(answer.status, 500, `${method} ${path} ${answer.text}`)
      }, Effect.timeout("20 seconds"))
      yield* Effect.forEach(samples, send)
      yield* Effect.forEach([...samples, ...samples], send, { concurrency: "unbounded" })

      const admin = yield* poolOf((yield* DatabaseUrl).url)
      const old = yield* admin`
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND xact_start < clock_timestamp() - interval '2 seconds'
      `
      assert.deepStrictEqual(old, [])
    })
  )
})

class Network extends Context.Service<Network, DatabaseProxy>()("agent-memory/test/reports/Network") {}

const BehindNetwork = Layer.effectContext(
  Effect.gen(function* () {
    const network = yield* makeProxy((yield* DatabaseUrl).url)
    const client: SqlClient.SqlClient = yield* poolOf(network.url)
    return Context.make(SqlClient.SqlClient, client).pipe(Context.add(Network, network))
  })
)

/** The end of a connection reaches the service a moment after the server knows of it. */
const untilReady = wire("GET", "/ready").pipe(
  Effect.repeat({ until: ({ status }) => status === 200, schedule: Schedule.spaced("20 millis") })
)

const keyed = (key: string, name: string) => post(key, "t", `{"k":"${name}"}`, { "idempotency-key": name })

layer(serviceOn(BehindNetwork.pipe(Layer.provideMerge(DatabaseLayer))), { excludeTestServices: true })((it) => {
  const terminate = (admin: SqlClient.SqlClient) => admin<{ pid: number }>`
    SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
  `

  // https://github.com/brianc/node-postgres/issues/2112
  it.effect("C29 P12 answers the first request after every idle connection was ended", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const admin = yield* poolOf((yield* DatabaseUrl).url)
      for (let round = 0; round < 5; round++) {
        yield* Effect.all(
          Array.from({ length: 15 }, () => rowsOf(key, "t")),
          { concurrency: "unbounded" }
        )
        const ended = (yield* terminate(admin)).map(({ pid }) => pid)
        assert.isNotEmpty(ended)
        const left = admin`SELECT pid FROM pg_stat_activity WHERE ${admin.in("pid", ended)}`
        yield* Effect.repeat(left, { until: (rows) => rows.length === 0, schedule: Schedule.spaced("5 millis") })
        yield* untilReady
        assert.strictEqual((yield* keyed(key, `idle${round}`)).status, 201)
      }
      assert.strictEqual(yield* countOf(key, "t"), 5)
    })
  )

  // https://github.com/brianc/node-postgres/issues/1611
  it.effect(
    "C29 P12 answers a request whose connection was ended in its statement, and a repeat makes no duplicate",
    () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const admin = yield* poolOf((yield* DatabaseUrl).url)
        yield* keyed(key, "before")
        const waiting = admin<{ pid: number }>`SELECT pid FROM pg_locks WHERE NOT granted`
        const { took, value } = yield* timed(
          Effect.gen(function* () {
            const blocked = yield* admin.withTransaction(
              Effect.gen(function* () {
                yield* admin`LOCK TABLE rows IN EXCLUSIVE MODE`
                const call = yield* Effect.forkScoped(keyed(key, "cut"))
                yield* Effect.repeat(waiting, {
                  until: (rows) => rows.length > 0,
                  schedule: Schedule.spaced("5 millis")
                })
                yield* terminate(admin)
                return call
              })
            )
            return yield* Fiber.join(blocked)
          })
        )
        assert.oneOf(value.status, [201, 503], value.text)
        if (value.status === 503) assert.match(value.headers["retry-after"] ?? "", /^[1-9]\d*$/)
        assert.isBelow(took, mostWhileAway)
        yield* untilReady
        assert.strictEqual((yield* keyed(key, "cut")).status, 201)
        assert.strictEqual(yield* countOf(key, "t"), 2)
      })
  )

  // https://github.com/brianc/node-postgres/issues/3083
  it.effect("C29 P12 answers 503 while nothing comes through, and the first request once it is ready again", () =>
    Effect.gen(function* () {
      const network = yield* Network
      yield* Effect.addFinalizer(() => network.resume)
      const { apiKey: key } = yield* newAccount
      for (const fault of [network.stall, network.cut]) {
        yield* fault
        const { took, value } = yield* timed(keyed(key, "hole"))
        assert.strictEqual(value.status, 503, value.text)
        assert.strictEqual(jsonOf(value)["code"], "unavailable")
        assert.match(value.headers["retry-after"] ?? "", /^[1-9]\d*$/)
        assert.isBelow(took, mostWhileAway)
        yield* network.resume
        yield* untilReady
        assert.strictEqual((yield* keyed(key, "hole")).status, 201)
      }
      assert.strictEqual(yield* countOf(key, "t"), 1)
    })
  )
})

layer(Layer.provideMerge(BoundedService.layer, serviceLayer()), { excludeTestServices: true })((it) => {
  // https://github.com/electric-sql/pglite/issues/945
  it.effect("C05 reads a full account without parallel plans, and answers others meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [setting] = yield* sql`SHOW max_parallel_workers_per_gather`
      assert.deepStrictEqual(setting, { max_parallel_workers_per_gather: "0" })

      const { apiKey: key } = yield* newAccount
      const rows = Array.from({ length: 1000 }, (_, n) => `{"n":${n},"text":"${"x".repeat(1200)}"}`)
      const tables = Array.from({ length: 20 }, (_, n) => `t${n}`)
      yield* Effect.forEach(tables, (table) => addAll(key, table, rows), { concurrency: 4 })
      // As after a while of use, when PostgreSQL knows how large the tables are and would choose such plans.
      yield* sql`ANALYZE`
      const service = yield* BoundedService
      const read = (path: string) => call(service.url + path, { key })
      const heavy = Effect.all(
        [
          read("/v1/_export"),
          read("/v1/_tables"),
          ...tables.map((table) => read(`/v1/${table}/count?filter=%7B%22n%22:7%7D`)),
          ...tables.map((table) => read(`/v1/${table}?sort=-text&limit=1000`))
        ],
        { concurrency: "unbounded" }
      )
      let answered = 0
      const watch = Effect.forever(
        Effect.andThen(
          call(`${service.url}/health`),
          Effect.sync(() => answered++)
        )
      )
      yield* service.strain
      const answers = yield* Effect.race(heavy, watch)
      const { blocked } = yield* service.strain
      for (const { status, text } of answers) assert.strictEqual(status, 200, text.slice(0, 300))
      assert.isAbove(answers[0]!.text.length, 24_000_000)
      assert.isAbove(answered, 2)
      assert.isBelow(blocked, 200)
    })
  )

  // https://github.com/VilledeMontreal/express-idempotency/issues/32
  it.effect("C28 lets a refused call succeed under its key once there is room", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(
        key,
        "t",
        Array.from({ length: 1000 }, (_, n) => `{"n":${n}}`)
      )
      for (let times = 0; times < 2; times++) {
        assert.strictEqual(jsonOf(yield* keyed(key, "k"))["code"], "row_limit")
      }
      yield* wire("DELETE", "/v1/t", { key, body: '{"filter":{"n":1}}' })
      const stored = yield* keyed(key, "k")
      assert.strictEqual(stored.status, 201)
      assert.isUndefined(stored.headers["idempotent-replayed"])
      const replayed = yield* keyed(key, "k")
      assert.deepStrictEqual([replayed.text, replayed.headers["idempotent-replayed"]], [stored.text, "true"])
    })
  )

  // https://github.com/payloadcms/payload/pull/2058
  it.effect("C44 prunes only a row's own versions, and a restore loses nothing and can be undone", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const [a, b] = [
        jsonOf<RowBody>(yield* add(key, "t", '{"a":0}')),
        jsonOf<RowBody>(yield* add(key, "t", '{"b":0}'))
      ]
      const patch = (id: string, fields: string) => post(key, "t/update_row", `{"id":"${id}","patch":${fields}}`)
      for (let n = 1; n <= 3; n++) yield* patch(b.id, `{"b":${n}}`)
      for (let n = 1; n <= 15; n++) yield* patch(a.id, `{"a":${n}}`)
      yield* Effect.all(
        Array.from({ length: 20 }, (_, n) => patch(a.id, `{"f${n}":1}`)),
        { concurrency: "unbounded" }
      )
      const numbers = (id: string) => Effect.map(versionsOf(key, "t", id), (all) => all.map(({ version }) => version))
      assert.deepStrictEqual(yield* numbers(b.id), [3, 2, 1])
      assert.deepStrictEqual(yield* numbers(a.id), [35, 34, 33, 32, 31, 30, 29, 28, 27, 26])

      const find = Effect.map(rowsOf(key, "t", { filter: `{"id":"${a.id}"}` }), ([row]) => row!)
      const own = (row: RowBody) => ({ ...row, updated_at: "" })
      const restore = (version: number) => post(key, "t/restore", `{"id":"${a.id}","version":${version}}`)
      const current = yield* find
      const oldest = (yield* versionsOf(key, "t", a.id)).at(-1)!
      assert.strictEqual((yield* restore(oldest.version)).status, 200)
      const restored = yield* find
      assert.deepStrictEqual(own(restored), own(oldest.row))
      assert.isAbove(Date.parse(restored.updated_at), Date.parse(current.updated_at))
      const [newest] = yield* versionsOf(key, "t", a.id)
      assert.deepInclude(newest, { version: 36, operation: "restore", row: current })
      assert.isAtLeast(Date.parse(newest!.archived_at), Date.parse(current.updated_at))
      assert.strictEqual((yield* restore(newest!.version)).status, 200)
      assert.deepStrictEqual(own(yield* find), own(current))
      assert.deepStrictEqual(yield* numbers(b.id), [3, 2, 1])
    })
  )
})
