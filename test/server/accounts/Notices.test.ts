import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { callMcp, exchange, newClient, newCode, newPerson, tokensOf } from "../../support/OAuth.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

/** Makes every notice meet a defect: the address that it goes to cannot be read. */
const withoutAddresses = <A, E, R>(use: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.acquireUseRelease(
      sql`ALTER TABLE account_emails RENAME COLUMN email TO address`,
      () => use,
      () => Effect.orDie(sql`ALTER TABLE account_emails RENAME COLUMN address TO email`)
    )
  )

layer(serviceLayer(), { excludeTestServices: true })("A notice that breaks off", (it) => {
  it.effect("does not keep the new key from who made it", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const made = yield* withoutAddresses(request("POST", "/v1/_keys", { key, body: '{"name":"app"}' }))
      assert.strictEqual(made.status, 201, made.text)
      const { api_key } = bodyOf<{ readonly api_key: string }>(made)
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key: api_key })).status, 200)
    })
  )

  it.effect("does not keep the tokens from the app that was given access", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const code = yield* newCode(person, client)
      const answer = yield* withoutAddresses(exchange(client, code))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual((yield* callMcp(tokensOf(answer).access_token)).status, 200)
    })
  )
})
