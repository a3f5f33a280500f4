import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { createServer, type Socket } from "node:net"
import { makeEmbedded } from "../../../src/server/sql/EmbeddedPostgres.ts"
import { migrate } from "../../../src/server/sql/Migrations.ts"
import { throwAwayFolder } from "../../../src/testing/TestDatabase.ts"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { connectTo, endTogether, listenInPlaceOf } from "../../support/Loopback.ts"
import { makeFaultyNetwork } from "../../support/StatementFaults.ts"
import { showing } from "../../support/Statements.ts"
import { BaseUrl, bodyOf, newAccount, request, serviceLayer, serviceOn } from "../../support/TestService.ts"

/** How often rows were read by SQL, or loaded into memory. */
let reads = 0
const counting = showing((text) =>
  Effect.sync(() => {
    if (/^\s*SELECT [^]*\bFROM rows\b/.test(text)) reads++
  })
)

const serviceAt = Effect.fnUntraced(function* (databaseUrl: string) {
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(databaseUrl))
  const service = yield* Layer.build(Layer.fresh(serviceOn(Layer.fresh(pool))))
  return <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, BaseUrl, Context.get(service, BaseUrl))
})

const add = (key: string, n: number) => request("POST", "/v1/t", { key, body: `{"n":${n}}` })

/** What a table has; a connection that was ended while it was idle is only found out by the next request. */
const numbers = (key: string) =>
  request("GET", "/v1/t", { key }).pipe(
    Effect.repeat({ until: ({ status }) => status === 200, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("20 seconds"),
    Effect.map((answer) => bodyOf<{ rows: ReadonlyArray<{ n: number }> }>(answer).rows.map(({ n }) => n))
  )

/** A network that leads to a database, and later to another one that took its place. */
const makeSwitch = Effect.fnUntraced(function* (first: string) {
  const sockets = new Set<Socket>()
  let target = first
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connectTo(target)
    endTogether(client, upstream, sockets)
    client.pipe(upstream)
    upstream.pipe(client)
  })
  const url = yield* listenInPlaceOf(first, server, sockets)
  const failOver = (other: string) =>
    Effect.sync(() => {
      target = other
      for (const socket of sockets) socket.destroy()
    })
  return { url, failOver }
})

/** Another PostgreSQL, with an empty database under the suite's name. */
const anotherServer = Effect.gen(function* () {
  const { pathname } = new URL((yield* DatabaseUrl).url)
  const { database, host, port } = yield* makeEmbedded({ dataDir: yield* throwAwayFolder, durable: false })
  const own = `postgres://postgres@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
  const admin = yield* poolOf(own)
  yield* admin`CREATE DATABASE ${admin(pathname.slice(1))}`
  const url = Object.assign(new URL(own), { pathname }).href
  const sql = yield* poolOf(url)
  yield* Effect.provideService(migrate, SqlClient.SqlClient, sql)
  return { url, sql }
})

/** Brings the other server's data of an account to what this one has, as replication does. */
const replicate = Effect.fnUntraced(function* (accountId: string, to: SqlClient.SqlClient) {
  const sql = yield* SqlClient.SqlClient
  for (const name of ["accounts", "api_keys", "tables", "rows"]) {
    const found = yield* sql<{ text: string }>`
      SELECT to_jsonb(t)::text AS text FROM ${sql(name)} t WHERE account_id = ${accountId}
    `
    for (const { text } of found) {
      yield* to`INSERT INTO ${to(name)} SELECT (jsonb_populate_record(NULL::${to(name)}, ${text}::text::jsonb)).*`
    }
  }
})

layer(serviceLayer().pipe(Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, counting))), {
  excludeTestServices: true,
  timeout: "60 seconds"
})("Reads from memory", (it) => {
  it.effect(
    "P37 are forgotten with a failover to a server that lacks the last commit and goes on with another one",
    () =>
      Effect.gen(function* () {
        const standby = yield* anotherServer
        const network = yield* makeSwitch((yield* DatabaseUrl).url)
        const here = yield* serviceAt(network.url)
        const there = yield* serviceAt(standby.url)
        const { accountId, apiKey: key } = yield* here(newAccount)
        yield* here(add(key, 1))
        yield* replicate(accountId, standby.sql)
        yield* here(add(key, 2))
        for (let n = 0; n < 3; n++) assert.deepStrictEqual(yield* here(numbers(key)), [1, 2])
        // Its account has the revision that the first server's had, and other rows.
        yield* there(add(key, 3))
        yield* network.failOver(standby.url)
        assert.deepStrictEqual(yield* here(numbers(key)), [1, 3])
        assert.deepStrictEqual(yield* here(numbers(key)), [1, 3])
      }),
    60_000
  )

  it.effect(
    "P37 are nothing for a write to act on after a failover to a server that lacks their rows",
    () =>
      Effect.gen(function* () {
        const standby = yield* anotherServer
        const network = yield* makeSwitch((yield* DatabaseUrl).url)
        const here = yield* serviceAt(network.url)
        const there = yield* serviceAt(standby.url)
        const { accountId, apiKey: key } = yield* here(newAccount)
        yield* here(add(key, 1))
        yield* replicate(accountId, standby.sql)
        const { id } = bodyOf<{ id: string }>(yield* here(add(key, 2)))
        for (let n = 0; n < 3; n++) assert.deepStrictEqual(yield* here(numbers(key)), [1, 2])
        yield* there(add(key, 3))
        yield* network.failOver(standby.url)
        const patch = request("POST", "/v1/t/update_row", { key, body: JSON.stringify({ id, patch: { n: 4 } }) }).pipe(
          Effect.repeat({ until: ({ status }) => status !== 503, schedule: Schedule.spaced("20 millis") }),
          Effect.timeout("20 seconds")
        )
        assert.include(yield* here(patch), { status: 404 })
        assert.deepStrictEqual(yield* here(numbers(key)), [1, 3])
      }),
    60_000
  )

  it.effect(
    "P37 are forgotten, those of every account, when the connection is lost before a commit is answered",
    () =>
      Effect.gen(function* () {
        const network = yield* makeFaultyNetwork((yield* DatabaseUrl).url)
        const here = yield* serviceAt(network.url)
        const [{ apiKey: reader }, { apiKey: writer }] = [yield* here(newAccount), yield* here(newAccount)]
        yield* here(add(reader, 1))
        yield* here(add(writer, 1))
        for (let n = 0; n < 2; n++) yield* here(numbers(reader))
        reads = 0
        assert.deepStrictEqual(yield* here(numbers(reader)), [1])
        assert.strictEqual(reads, 0)
        // The first statement lets the write in, the second stores it.
        network.arm(2, "lost")
        assert.strictEqual((yield* here(add(writer, 2))).status, 503)
        assert.isTrue(network.disarm())
        assert.deepStrictEqual(yield* here(numbers(reader)), [1])
        assert.strictEqual(reads, 1)
        assert.deepStrictEqual(yield* here(numbers(writer)), [1, 2])
      }),
    60_000
  )
})
