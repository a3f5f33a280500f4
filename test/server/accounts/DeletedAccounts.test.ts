import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { AccountDeletion } from "../../../src/server/accounts/AccountDeletion.ts"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { Email } from "../../../src/domain/Account.ts"
import { TableCache } from "../../../src/server/tables/engine/cache/TableCache.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { actorNow, anotherInstance } from "../../support/Instances.ts"
import { newConnection } from "../../support/Mcp.ts"
import { storedText } from "../../support/StoredText.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, pathsOf, wire } from "../wire/Wire.ts"

/** An account with one of everything, in all of which a marker stands. */
const markedAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { accountId, apiKey: key, cookie, email, token } = yield* newConnection()
  yield* sql`INSERT INTO account_emails (email, account_id) VALUES (${email}, ${accountId})`
  const marker = `marker-${randomUUID()}`
  const send = (method: string, path: string, body: object) =>
    Effect.tap(
      request(method, path, { key, body: JSON.stringify(body), headers: { "idempotency-key": randomUUID() } }),
      ({ status, text }) => Effect.sync(() => assert.isBelow(status, 300, text))
    )
  const { id } = bodyOf<{ id: string }>(yield* send("POST", "/v1/notes", { marker }))
  yield* send("POST", "/v1/notes/update_row", { id, patch: { other: marker } })
  yield* send("POST", "/v1/gone", { marker })
  yield* send("DELETE", "/v1/gone", { all: true })
  yield* request("POST", "/v1/_keys", { key, body: JSON.stringify({ name: marker }) })
  yield* request("POST", "/v1/_query_links", { key, body: JSON.stringify({ table: "notes", filter: { marker } }) })
  yield* request("POST", "/auth/magic-link", { body: JSON.stringify({ email }) })
  for (const _ of [1, 2, 3]) yield* request("GET", "/v1/notes", { key })
  return { accountId, key, cookie, email, token, marker }
})

/** How many rows each table has of an account. */
const leftOf = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'account_id' ORDER BY table_name
  `
  const counts = yield* Effect.forEach(tables, ({ name }) =>
    Effect.map(
      sql.unsafe<{ count: number }>(`SELECT count(*)::integer AS count FROM "${name}" WHERE account_id = $1`, [
        accountId
      ]),
      ([row]) => [name, row!.count] as const
    )
  )
  return counts.filter(([, count]) => count > 0)
})

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "10000" }), { excludeTestServices: true })("A deleted account", (it) => {
  it.effect("P42 leaves no byte of what it held, and opens to none of its keys, apps and browsers", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email, key, marker, token } = yield* markedAccount
      const other = yield* markedAccount
      for (const wrong of ["nobody@example.com", other.email]) {
        const problem = assertProblem(
          yield* wire("DELETE", "/v1/_account", { key, body: JSON.stringify({ email: wrong }) }),
          400,
          "invalid_request"
        )
        assert.deepStrictEqual(pathsOf(problem), ["/email"])
      }
      assert.strictEqual((yield* wire("GET", "/v1/_usage", { key })).status, 200)
      const body = JSON.stringify({ email: ` ${email.toUpperCase()}` })
      const answer = yield* wire("DELETE", "/v1/_account", { key, body })
      assert.strictEqual(answer.text, `{"account_id":"${accountId}","deleted":true}`)

      assert.deepStrictEqual(yield* leftOf(accountId), [])
      const text = yield* storedText
      for (const gone of [marker, email, accountId]) assert.notInclude(text, gone)
      assert.notInclude((yield* TableCache).accounts(), accountId)
      assertProblem(yield* wire("GET", "/v1/notes", { key }), 401, "unauthenticated")
      assert.strictEqual((yield* request("POST", "/mcp", { key: token, body: "{}" })).status, 401)
      const page = yield* request("GET", "/account", { headers: { cookie } })
      assert.notInclude(page.text, email)
      assert.include(yield* storedText, other.marker)
      assert.strictEqual((yield* wire("GET", "/v1/_usage", { key: other.key })).status, 200)
    })
  )

  it.effect("refuses with 401 every write that was on its way, at each instance", () =>
    Effect.gen(function* () {
      const { accountId, email, key, marker } = yield* markedAccount
      const there = yield* anotherInstance()
      const actor = yield* actorNow(accountId)
      const here = (n: number) =>
        Effect.map(request("POST", "/v1/notes", { key, body: JSON.stringify({ n, marker }) }), ({ status }) => status)
      const elsewhere = (n: number) =>
        there.rowWrites
          .write(actor, { table: "notes" }, { action: "add", row: JsonText.trusted(JSON.stringify({ n, marker })) })
          .pipe(
            Effect.as(201),
            Effect.catch(({ _tag }) => Effect.succeed(_tag === "Unauthenticated" ? 401 : 500))
          )
      const writes = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? here(n) : elsewhere(n)))
      const deletion = request("DELETE", "/v1/_account", { key, body: JSON.stringify({ email }) })
      const [deleted, ...statuses] = yield* Effect.all([Effect.map(deletion, ({ status }) => status), ...writes], {
        concurrency: "unbounded"
      })
      assert.strictEqual(deleted, 200)
      assert.deepStrictEqual(
        statuses.filter((status) => status !== 201 && status !== 401),
        []
      )
      assert.strictEqual(yield* elsewhere(61), 401)
      assert.strictEqual(yield* here(62), 401)
      assert.deepStrictEqual(
        (yield* leftOf(accountId)).filter(([name]) => name !== "key_buckets"),
        []
      )
      assert.notInclude(yield* storedText, marker)
    })
  )

  it.effect("is deleted and its owner told, though its rows can't be removed yet or nobody waits for the answer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      const deletion = yield* AccountDeletion
      const [first, second] = [yield* markedAccount, yield* markedAccount]
      const told = (email: string) =>
        Effect.repeat(
          Effect.map(outbox.sent, (mails) => mails.some(({ subject, to }) => to === email && /deleted/.test(subject))),
          { until: (isTold) => isTold, schedule: Schedule.spaced("5 millis") }
        )
      yield* Effect.acquireUseRelease(
        sql`ALTER TABLE idempotency_records RENAME TO elsewhere`,
        () =>
          Effect.gen(function* () {
            const body = JSON.stringify({ email: first.email })
            const answer = yield* wire("DELETE", "/v1/_account", { key: first.key, body })
            assert.strictEqual(answer.status, 200, answer.text)
            assertProblem(yield* wire("GET", "/v1/notes", { key: first.key }), 401, "unauthenticated")
          }),
        () => Effect.orDie(sql`ALTER TABLE elsewhere RENAME TO idempotency_records`)
      )
      yield* told(first.email)
      const sent = yield* Effect.forkChild(
        deletion.deleteAccount(yield* actorNow(second.accountId), Email.make(second.email))
      )
      const isClosed = Effect.map(
        sql`SELECT FROM accounts WHERE account_id = ${second.accountId} AND closed_at IS NULL`,
        ({ length }) => length === 0
      )
      yield* Effect.repeat(isClosed, { until: (isClosed) => isClosed })
      yield* Fiber.interrupt(sent)
      yield* told(second.email)
      yield* sql`UPDATE accounts SET closed_at = memory_now() - interval '2 minutes' WHERE closed_at IS NOT NULL`
      yield* deletion.resume
      for (const { accountId } of [first, second]) assert.deepStrictEqual(yield* leftOf(accountId), [])
    })
  )

  it.effect("that an instance began to remove is removed by another one, which forgets what it has in memory", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const deletion = yield* AccountDeletion
      const cache = yield* TableCache
      const { accountId, marker } = yield* markedAccount
      const kept = yield* markedAccount
      assert.includeMembers([...cache.accounts()], [accountId, kept.accountId])
      yield* sql`
        UPDATE accounts SET closed_at = memory_now() - interval '2 minutes', revision = revision + 1
        WHERE account_id = ${accountId}
      `
      yield* deletion.forgetGone
      assert.notInclude(cache.accounts(), accountId)
      assert.include(cache.accounts(), kept.accountId)
      assert.strictEqual(yield* deletion.resume, 1)
      assert.deepStrictEqual(yield* leftOf(accountId), [])
      assert.notInclude(yield* storedText, marker)
      assert.strictEqual(yield* deletion.resume, 0)
    })
  )
})
