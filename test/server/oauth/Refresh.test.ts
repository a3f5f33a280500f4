import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { setClock } from "../../support/Database.ts"
import {
  assertRefused,
  callMcp,
  connect,
  exchange,
  newClient,
  newCode,
  newPerson,
  refresh,
  tokensOf
} from "../../support/OAuth.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"

layer(serviceLayer(), { excludeTestServices: true })("A refresh token", (it) => {
  it.effect("35 gives new tokens for a refresh token, which ends once they are used", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const first = yield* connect(person, client)
      const second = tokensOf(yield* refresh(client, first.refresh_token))
      assert.notStrictEqual(second.refresh_token, first.refresh_token)
      assert.strictEqual((yield* callMcp(second.access_token)).status, 200)
      const third = tokensOf(yield* refresh(client, second.refresh_token))
      assertRefused(yield* refresh(client, first.refresh_token), 400, "invalid_grant")
      for (const { access_token, refresh_token } of [second, third]) {
        assert.strictEqual((yield* callMcp(access_token)).status, 401)
        assertRefused(yield* refresh(client, refresh_token), 400, "invalid_grant")
      }
    })
  )

  it.effect("35 P32 lets programs that share a token refresh at once, and go on with any of the answers", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { refresh_token } = yield* connect(person, client)
      const answers = yield* Effect.all(
        Array.from({ length: 5 }, () => refresh(client, refresh_token)),
        { concurrency: "unbounded" }
      )
      const all = answers.map(tokensOf)
      for (const { access_token } of all) assert.strictEqual((yield* callMcp(access_token)).status, 200)
      tokensOf(yield* refresh(client, all[3]!.refresh_token))
      tokensOf(yield* refresh(client, all[1]!.refresh_token))
    })
  )

  it.effect("35 P32 ends the connection when two go on with one token much apart, since one of them stole it", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { refresh_token } = yield* connect(person, client)
      const [one, other] = [
        tokensOf(yield* refresh(client, refresh_token)),
        tokensOf(yield* refresh(client, refresh_token))
      ]
      const next = tokensOf(yield* refresh(client, one.refresh_token))
      yield* setClock("11 minutes")
      assert.strictEqual((yield* callMcp(next.access_token)).status, 200)
      assertRefused(yield* refresh(client, other.refresh_token), 400, "invalid_grant")
      assert.strictEqual((yield* callMcp(next.access_token)).status, 401)
      yield* setClock("0 minutes")
    })
  )

  it.effect(
    "35 repeats the lost answer of whichever of such programs was the first, though another went on since",
    () =>
      Effect.gen(function* () {
        yield* setClock("0 minutes")
        const [person, client] = [yield* newPerson, yield* newClient()]
        const { refresh_token } = yield* connect(person, client)
        const first = tokensOf(yield* refresh(client, refresh_token))
        const other = tokensOf(yield* refresh(client, refresh_token))
        for (const { refresh_token } of [first, other]) tokensOf(yield* refresh(client, refresh_token))
        yield* setClock("11 minutes")
        tokensOf(yield* refresh(client, first.refresh_token))
        yield* setClock("0 minutes")
      })
  )

  it.effect("35 gives a connection so many tokens an hour, and leaves the database to others meanwhile", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { refresh_token } = yield* connect(person, client)
      const [answers, others] = yield* Effect.all(
        [
          Effect.all(
            Array.from({ length: 200 }, () => refresh(client, refresh_token)),
            { concurrency: "unbounded" }
          ),
          Effect.all(
            Array.from({ length: 20 }, () => request("GET", "/v1/_tables", { key: person.apiKey })),
            { concurrency: 4 }
          )
        ],
        { concurrency: "unbounded" }
      )
      for (const answer of others) assert.strictEqual(answer.status, 200, answer.text)
      const given = answers.filter(({ status }) => status === 200)
      assert.isAtLeast(given.length, 1)
      assert.isAtMost(given.length, 120)
      for (const answer of answers) {
        if (answer.status === 200) continue
        assert.include([429, 503], answer.status)
        assert.strictEqual(bodyOf(answer)["error"], "temporarily_unavailable")
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
      }
    })
  )

  it.effect("35 is never kept waiting by codes and tokens that only name its account", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { refresh_token } = yield* connect(person, client)
      const forged = `${person.accountId}_${"x".repeat(43)}`
      const waiting = sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
      `
      const refreshing = yield* Effect.gen(function* () {
        yield* sql`LOCK TABLE connections IN ACCESS EXCLUSIVE MODE`
        const refreshing = yield* Effect.forkScoped(refresh(client, refresh_token))
        yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
        // It has the account's turn, for as long as it waits for the lock.
        for (const answer of [
          yield* refresh(client, `svc_refresh_${forged}`),
          yield* exchange(client, { code: forged, verifier: "v".repeat(43) })
        ]) {
          assertRefused(answer, 400, "invalid_grant")
        }
        return refreshing
      }).pipe(sql.withTransaction)
      tokensOf(yield* Fiber.join(refreshing))
    })
  )

  it.effect("35 repeats an answer that was lost hours ago", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { refresh_token } = yield* connect(person, client)
      tokensOf(yield* refresh(client, refresh_token))
      yield* setClock("9 hours")
      tokensOf(yield* refresh(client, refresh_token))
      yield* setClock("0 hours")
    })
  )

  it.effect("35 keeps to the scope, the resource, the client and the 90 days", () =>
    Effect.gen(function* () {
      const [person, client, other] = [yield* newPerson, yield* newClient(), yield* newClient()]
      const code = yield* newCode(person, client, { scope: "agent-memory offline_access" })
      let token = tokensOf(yield* exchange(client, code)).refresh_token
      const bad: ReadonlyArray<readonly [Record<string, string>, string]> = [
        [{ scope: "agent-memory admin" }, "invalid_scope"],
        [{ resource: "https://other.example/mcp" }, "invalid_target"],
        [{ client_id: other.client_id }, "invalid_grant"],
        [{ refresh_token: "unknown" }, "invalid_grant"],
        [{ refresh_token: "" }, "invalid_request"]
      ]
      for (const [changes, error] of bad) assertRefused(yield* refresh(client, token, changes), 400, error)
      const narrower = tokensOf(yield* refresh(client, token, { scope: "agent-memory" }))
      assert.strictEqual(narrower.scope, "agent-memory")
      token = tokensOf(
        yield* refresh(client, token, { resource: "http://localhost:3000/mcp/", scope: "" })
      ).refresh_token
      assertRefused(yield* refresh(client, narrower.access_token), 400, "invalid_grant")
      yield* setClock("89 days")
      token = tokensOf(yield* refresh(client, token)).refresh_token
      yield* setClock("178 days")
      token = tokensOf(yield* refresh(client, token)).refresh_token
      yield* setClock("268 days 2 hours")
      assertRefused(yield* refresh(client, token), 400, "invalid_grant")
      yield* setClock("0 days")
    })
  )
})
