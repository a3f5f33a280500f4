import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"
import { openExternal, startupParameters } from "../../../src/server/sql/Database.ts"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { makePooler } from "../../support/Pooler.ts"
import { call, emptyDatabase, signUp, startService } from "../../support/ServiceProcess.ts"

const all = Object.entries(startupParameters)
const names = all.map(([name]) => name)

const settingsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* sql<{ name: string; value: string }>`
    SELECT name, current_setting(name) AS value FROM unnest(${names}::text[]) AS name
  `
  return new Map(rows.map(({ name, value }) => [name, value]))
})

/** What the database gives to sessions that begin without a word. */
const defaultsOf = (url: string) =>
  PgClient.make({ url: Redacted.make(url), maxConnections: 1 }).pipe(
    Effect.flatMap(settingsOf),
    Effect.scoped,
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
  )

/** What the service says of a database, or else the settings of its sessions. */
const opened = (url: string) =>
  openExternal(Redacted.make(url)).pipe(
    Effect.flatMap(({ client }) => settingsOf(client)),
    Effect.catchTag("DatabaseProblem", ({ message }) => Effect.succeed(message)),
    Effect.scoped,
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
  )

const refusal = (lost: ReadonlyArray<readonly [name: string, value: string]>) =>
  `Sessions of DATABASE_URL lose their start settings, as behind a pooler. Give its role these settings with ALTER ROLE: ${lost.map(([name, value]) => `${name} = '${value}'`).join(", ")}.`

layer(DatabaseLayer, { excludeTestServices: true })("Sessions behind a pooler", (it) => {
  it.effect("are refused for every setting that they lost, and for no other", () =>
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      const defaults = yield* defaultsOf(url)
      // What the server has by default anyway is not lost.
      const losable = all.filter(([name, value]) => defaults.get(name) !== value)
      assert.includeMembers(
        losable.map(([name]) => name),
        ["statement_timeout", "plan_cache_mode", "enable_seqscan"]
      )
      for (const one of losable) {
        assert.strictEqual(yield* opened(yield* makePooler(url, [one[0]])), refusal([one]))
      }
      assert.strictEqual(yield* opened(yield* makePooler(url, names)), refusal(losable))
    })
  )

  it.effect("are taken once their role has what the refusal names", () =>
    Effect.gen(function* () {
      const database = yield* emptyDatabase
      const url = yield* makePooler(database, names)
      const refused = yield* opened(url)
      assert.isString(refused)
      const told = String(refused).match(/\w+ = '[^']*'/g) ?? []
      const admin = yield* PgClient.make({ url: Redacted.make(database), maxConnections: 1 })
      // In this database alone: the role is that of all suites.
      const name = new URL(database).pathname.slice(1)
      yield* Effect.forEach(told, (one) => admin.unsafe(`ALTER ROLE CURRENT_USER IN DATABASE "${name}" SET ${one}`))
      assert.deepStrictEqual(yield* opened(url), new Map(all))
    }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))
  )

  it.effect("are taken as they are from one that passes everything on", () =>
    Effect.gen(function* () {
      const url = yield* makePooler((yield* DatabaseUrl).url, [])
      assert.deepStrictEqual(yield* opened(url), new Map(all))
      const service = yield* startService({ DATABASE_URL: url })
      const key = yield* signUp(service.url)
      assert.strictEqual((yield* call(`${service.url}/v1/notes`, { key, body: '{"n":1}' })).status, 201)
    })
  )

  it.effect("keep a process from starting, which says what to do", () =>
    Effect.gen(function* () {
      const url = yield* makePooler((yield* DatabaseUrl).url, names)
      const ended = yield* Effect.flip(startService({ DATABASE_URL: url }))
      assert.strictEqual(ended.code, 1)
      assert.include(ended.output, "Agent Memory did not start.")
      assert.include(ended.output, "Give its role these settings with ALTER ROLE: ")
      assert.include(ended.output, "enable_seqscan = 'off'")
    })
  )
})
