import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { LastUses } from "../../../src/server/keys/LastUses.ts"
import { Recount } from "../../../src/server/retention/Maintenance.ts"
import { RetentionRepo } from "../../../src/server/retention/RetentionRepo.ts"
import { Sweeper } from "../../../src/server/retention/Sweeper.ts"
import { setClock } from "../../support/Database.ts"
import { done, newConnection } from "../../support/Mcp.ts"
import { accountTables, isOf, recorder, tablesWithoutAccount, templates, textOf } from "../../support/Statements.ts"
import { localHeaders, newAccount, serviceLayer } from "../../support/TestService.ts"
import { makeLinks, restore } from "../links/LinkCalls.ts"
import { operations, type Sample } from "../wire/Operations.ts"
import { jsonOf, wire } from "../wire/Wire.ts"

/** The statements that may reach several accounts at once, and why. */
const crossing: Readonly<Record<string, string>> = {
  "AccountDeletion.resume": "background work asks an index which accounts are being deleted",
  "RetentionRepo.findExpired": "a sweep asks an index by age which accounts have expired versions, changes or records",
  "RetentionRepo.pageTables": "a sweep walks over all tables, a page at a time",
  "RetentionRepo.pageBuckets": "a sweep walks over all buckets, a page at a time",
  "RetentionRepo.removeBuckets": "a sweep removes the idle buckets of one page, each by its whole primary key",
  "SharedSql.makePrune": "a sweep removes the rows of a table that are due, each by its whole primary key",
  "RateLimiterRepo.admitAll": "a group asks for keys and accounts of several, each by account and hash, or by account",
  "RateLimiterRepo.findAll": "a group asks for keys and accounts of several, each by account and hash, or by account",
  "LastUses.store":
    "when all keys, or all connections, were last used is stored at once, each by its whole primary key",
  "Maintenance.accountsAfter": "a recount walks over all accounts, a page at a time"
}

/** The tables of no single account, and why they are none's. */
const sharedTables: Readonly<Record<string, string>> = {
  account_emails: "a sign-in finds its account here by the address",
  magic_links: "a sign-in finds its address here by the token's hash",
  sign_in_buckets: "sign-ins are slowed down by address and sender, before any account is known",
  oauth_clients: "a client registers before anybody signed in with it",
  maintenance: "one row for each background task",
  migrations: "what was done to this database"
}

const { sent, transformer } = recorder()
const RecordedService = serviceLayer({ LIMIT_VERSION_STORAGE_BYTES: "50", LIMIT_VERSIONS_PER_ROW: "2" }).pipe(
  Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, transformer))
)

/** What the service sends during the effect; what starts and stops the test's database and clock is not its own. */
const sentBy = Effect.fnUntraced(function* <E, R>(effect: Effect.Effect<void, E, R>) {
  yield* effect
  return [...sent].filter((text) => !/^\s*(?:CREATE|DROP) /.test(text))
})

const further: ReadonlyArray<Sample> = [
  ["GET", "/ready"],
  ["GET", `/sign-in?token=${"a".repeat(43)}`],
  ["GET", "/"],
  ["GET", `/v1/notes?filter=${encodeURIComponent('{"n":1,"kind":"a"}')}&sort=-n&limit=1`],
  ["GET", `/v1/notes?filter=${encodeURIComponent(`{"id":"$id","kind":"${"k".repeat(500)}"}`)}&sort=-created_at`],
  ["GET", `/v1/notes?filter=${encodeURIComponent('{"created_at":"2026-11-27T20:07:59.549Z"}')}&sort=id`],
  ["GET", `/v1/notes?filter=${encodeURIComponent('{"updated_at":"2026-11-27T20:07:59.549Z"}')}&sort=updated_at`],
  // What was not read before is no table in memory.
  ["GET", `/v1/others/count?filter=${encodeURIComponent('{"n":1}')}`],
  ["POST", "/v1/notes/upsert", `{"key":"n","row":{"n":"${"k".repeat(500)}"}}`],
  ["POST", "/v1/notes/upsert", `{"key":"n","row":{"n":"${"k".repeat(500)}","m":1}}`],
  ["POST", "/v1/notes/update_row", '{"id":"$id","patch":{"m":2}}'],
  ["POST", "/v1/notes/update_row", '{"id":"$id","patch":{"m":3}}'],
  ["POST", "/v1/notes/restore", '{"id":"$id","version":3}'],
  ["DELETE", "/v1/notes", '{"filter":{"n":1},"forever":true}'],
  ["DELETE", "/v1/notes", '{"filter":{"id":"$id"},"forever":true}'],
  ["DELETE", "/v1/notes", '{"all":true,"forever":true}']
]

/** Every operation with each of its statuses, a sign-in, and what runs in the background. */
const scenario = Effect.gen(function* () {
  const { apiKey: spare } = yield* newAccount
  const samples = Object.values(operations).flatMap(({ refusals, success }) => [success[1], ...Object.values(refusals)])
  for (const [method, path, body] of [...samples, ...further]) {
    const { apiKey: key } = yield* newAccount
    const added = yield* wire("POST", "/v1/notes", { key, body: '{"n":1,"kind":"a"}' })
    const { id } = jsonOf<{ id: string }>(added)
    yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"m":1}}` })
    const headers = { "idempotency-key": "once" }
    const filled = (text: string) => text.replaceAll(/\$id|%24id/g, id)
    yield* wire(method, filled(path), { key, body: body === undefined ? undefined : filled(body), headers })
  }
  const link = yield* wire("POST", "/auth/magic-link", {
    body: '{"email":"grace@example.com"}',
    headers: yield* localHeaders
  })
  const { dev_magic_link } = jsonOf<{ dev_magic_link: string }>(link)
  const token = new URL(dev_magic_link).searchParams.get("token")
  const { api_key: key } = jsonOf<{ api_key: string }>(
    yield* wire("POST", "/auth/verify", { body: `{"token":"${token}"}` })
  )
  const keys = jsonOf<{ keys: ReadonlyArray<{ id: string }> }>(yield* wire("GET", "/v1/_keys", { key }))
  yield* wire("DELETE", `/v1/_keys/${keys.keys[0]!.id}`, { key })
  yield* wire("GET", "/v1/_keys", { key })
  const stored = jsonOf<{ id: string }>(yield* wire("POST", "/v1/notes", { key: spare, body: '{"n":1,"text":"a"}' }))
  const { download, view } = yield* makeLinks(spare, "text_field", { table: "notes", id: stored.id, field: "text" })
  yield* wire("GET", view)
  yield* wire("GET", download)
  yield* wire("GET", `${view}?view=history`)
  yield* restore(view)
  // Nothing is remembered of this account yet.
  const { apiKey: fresh } = yield* newAccount
  yield* wire("POST", "/v1/notes/upsert", { key: fresh, body: '{"key":"n","row":{"n":1}}' })
  const { token: agent } = yield* newConnection()
  yield* done(agent, "delete", { table: "notes", filter: { n: 1 }, dryRun: true })
  yield* Effect.flatMap(LastUses, (uses) => uses.write)
  yield* setClock("40 days")
  yield* Effect.flatMap(Sweeper, (sweeper) => sweeper.sweep)
  yield* Effect.flatMap(Recount, (recount) => recount.run)
})

layer(
  Layer.merge(Sweeper.layer, Recount.layer).pipe(
    Layer.provide(RetentionRepo.layer),
    Layer.provideMerge(RecordedService)
  ),
  {
    excludeTestServices: true
  }
)("Statements", (it) => {
  let statements: ReadonlyArray<string> = []

  it.effect(
    "name the account in every table that has one",
    () =>
      Effect.gen(function* () {
        statements = yield* sentBy(scenario)
        const found: Record<string, ReadonlyArray<string>> = {}
        const unseen: Array<string> = []
        for (const template of templates) {
          const matching = statements.filter((text) => isOf(template, text))
          // What the scenario does not send is taken as the sources have it, if nothing but values is put in.
          const texts = matching.length > 0 ? matching : [textOf(template)]
          const results = yield* Effect.forEach(texts, (text) => Effect.result(tablesWithoutAccount(text)))
          const tables = results.filter(Result.isSuccess).flatMap((result) => result.success)
          if (results.some(Result.isFailure)) unseen.push(template.name)
          if (tables.length > 0) found[template.name] = tables
        }
        assert.deepStrictEqual(unseen, [], "let the scenario send these")
        assert.deepStrictEqual(Object.keys(found).toSorted(), Object.keys(crossing).toSorted())
      }),
    120_000
  )

  it.effect("are all found in the sources", () =>
    Effect.sync(() => {
      assert.isAbove(statements.length, 30)
      assert.deepStrictEqual(
        statements.filter((text) => !templates.some((template) => isOf(template, text))),
        []
      )
    })
  )

  it.effect("meet no table but those of accounts and the shared ones", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ name: string }>`
        SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename
      `
      const known = [...(yield* accountTables), ...Object.keys(sharedTables)]
      assert.deepStrictEqual(
        tables.map(({ name }) => name),
        known.toSorted()
      )
    })
  )

  it.effect("would be reported without the account", () =>
    Effect.gen(function* () {
      const cases = [
        ["SELECT data FROM rows WHERE id = $1", ["rows"]],
        ["SELECT data FROM rows WHERE account_id > $1", ["rows"]],
        [
          "SELECT r.data FROM rows r JOIN versions v ON v.account_id = r.account_id WHERE r.id = $1",
          ["rows", "versions"]
        ],
        ["SELECT v.data FROM rows r JOIN versions v ON v.row_id = r.id WHERE r.account_id = $1", ["versions"]],
        ["SELECT v.data FROM rows r JOIN versions v USING (account_id) WHERE r.account_id = $1", []],
        ["UPDATE accounts SET revision = revision + 1 WHERE created_at < $1", ["accounts"]],
        ["DELETE FROM tables WHERE name = $1", ["tables"]],
        ["INSERT INTO tables (name, rows) VALUES ($1, 0)", ["tables"]],
        [
          "WITH gone AS (DELETE FROM api_keys WHERE key_id = $2) SELECT FROM accounts WHERE account_id = $1",
          ["api_keys"]
        ],
        ["SELECT (SELECT count(*) FROM key_buckets) FROM accounts WHERE account_id = $1", ["key_buckets"]]
      ] as const
      for (const [text, tables] of cases) {
        assert.deepStrictEqual<ReadonlyArray<string>>(yield* tablesWithoutAccount(text), tables, text)
      }
    })
  )
})
