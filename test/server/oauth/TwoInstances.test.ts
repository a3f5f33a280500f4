import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import {
  authorizeQuery,
  callMcp,
  connect,
  decide,
  exchange,
  hiddenField,
  newClient,
  newCode,
  newPerson,
  openAuthorize,
  pkce,
  postForm,
  refresh,
  tokensOf
} from "../../support/OAuth.ts"
import { BaseUrl, bodyOf, request, serviceLayer, serviceOn } from "../../support/TestService.ts"

/** Does something at another instance of the service, on the same database. */
const elsewhere = Effect.gen(function* () {
  const { url } = yield* DatabaseUrl
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
  const other = Context.get(yield* Layer.build(Layer.fresh(serviceOn(Layer.fresh(pool)))), BaseUrl)
  return <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, BaseUrl, other)
})

layer(serviceLayer(), { excludeTestServices: true })("OAuth over two instances", (it) => {
  it.effect("34 goes on at whichever instance is asked, and takes a code at one of them", () =>
    Effect.gen(function* () {
      const there = yield* elsewhere
      const person = yield* newPerson
      const client = yield* newClient()
      const code = yield* there(newCode(person, client))
      const answers = yield* Effect.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? exchange(client, code) : there(exchange(client, code)))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        1
      )
    })
  )

  it.effect("35 refreshes and detects a replay whichever instance gave the token", () =>
    Effect.gen(function* () {
      const there = yield* elsewhere
      const client = yield* there(newClient())
      const first = yield* connect(yield* newPerson, client)
      const second = tokensOf(yield* there(refresh(client, first.refresh_token)))
      const third = tokensOf(yield* refresh(client, second.refresh_token))
      assert.strictEqual((yield* there(callMcp(third.access_token))).status, 200)
      assert.strictEqual(bodyOf(yield* there(refresh(client, first.refresh_token)))["error"], "invalid_grant")
      assert.strictEqual((yield* callMcp(third.access_token)).status, 401)
    })
  )

  it.effect("38 ends a connection and a session everywhere at once", () =>
    Effect.gen(function* () {
      const there = yield* elsewhere
      const person = yield* newPerson
      const client = yield* newClient()
      const { access_token } = yield* connect(person, client)
      assert.strictEqual((yield* there(callMcp(access_token))).status, 200)
      const list = yield* there(request("GET", "/v1/_connections", { key: person.apiKey }))
      const { id } = bodyOf<{ connections: ReadonlyArray<{ id: string }> }>(list).connections[0]!
      const ended = yield* request("DELETE", `/v1/_connections/${id}`, { key: person.apiKey })
      assert.strictEqual(ended.text, '{"revoked":1}')
      assert.strictEqual((yield* there(callMcp(access_token))).status, 401)
      const query = authorizeQuery(client, pkce().challenge)
      assert.strictEqual((yield* there(decide(person, query))).status, 303)
      const { cookie } = person
      const page = yield* request("GET", "/account", { headers: { cookie } })
      yield* postForm("/sign-out", { proof: hiddenField(page, "proof") }, { cookie, "sec-fetch-site": "same-origin" })
      assert.include((yield* there(openAuthorize(query, cookie))).text, 'name="email"')
    })
  )
})
