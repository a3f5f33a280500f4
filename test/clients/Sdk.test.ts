import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { clientSuite, clientTimeout, McpService } from "../support/ClientTools.ts"
import { setClock } from "../support/Database.ts"
import { authorize } from "../support/FakeBrowser.ts"
import { failureOf, isUnauthorized, Login, logInWith, sdkClients } from "../support/SdkClients.ts"
import { localSecretOf } from "../support/LocalSecrets.ts"
import { call, signUp } from "../support/ServiceProcess.ts"

clientSuite("the official SDK's client", (it) => {
  for (const [name, open] of Object.entries(sdkClients)) {
    const logIn = (mcp: string) => logInWith(open, mcp)

    it.effect(
      `finds all it needs from the address of /mcp, registers, logs in and lists the tools (${name})`,
      () =>
        Effect.gen(function* () {
          const { issuer, mcp } = yield* McpService
          const { connection, login } = yield* logIn(mcp)
          assert.isNotEmpty(yield* Effect.promise(connection.tools))
          assert.strictEqual(login.sentTo.length, 1)
          assert.strictEqual(login.sentTo[0]?.origin, issuer)
          assert.strictEqual(login.sentTo[0]?.searchParams.get("resource"), mcp)
          assert.strictEqual(login.client?.client_id, login.sentTo[0]?.searchParams.get("client_id"))
          assert.isString(login.kept?.refresh_token)
        }),
      clientTimeout
    )

    it.effect(
      `renews an access token that has expired without asking the person (${name})`,
      () =>
        Effect.gen(function* () {
          const { mcp } = yield* McpService
          const { connection, login } = yield* logIn(mcp)
          const before = login.kept
          yield* Effect.acquireRelease(setClock("25 hours"), () => Effect.orDie(setClock("0 hours")))
          assert.isArray(yield* Effect.promise(connection.tools))
          assert.notStrictEqual(login.kept?.access_token, before?.access_token)
          assert.notStrictEqual(login.kept?.refresh_token, before?.refresh_token)
          assert.strictEqual(login.sentTo.length, 1)
        }),
      clientTimeout
    )

    it.effect(
      `registers again where its registration is gone (${name})`,
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { mcp } = yield* McpService
          const { connection, login } = yield* logIn(mcp)
          const before = login.client?.client_id
          yield* sql`DELETE FROM oauth_clients`
          login.kept = { ...login.kept!, access_token: "wrong" }
          assert.isTrue(isUnauthorized(yield* failureOf(connection.tools)))
          assert.notStrictEqual(login.client?.client_id, before)
          yield* Effect.promise(() => authorize(login.sentTo[1]!.href, { localSecret: localSecretOf(mcp) }))
        }),
      clientTimeout
    )

    it.effect(
      `asks the person again once the connection is revoked (${name})`,
      () =>
        Effect.gen(function* () {
          const service = yield* McpService
          const key = yield* signUp(service.url)
          const { connection, login } = yield* logIn(service.mcp)
          yield* disconnectAll(service.url, key)
          assert.isTrue(isUnauthorized(yield* failureOf(connection.tools)))
          assert.strictEqual(login.sentTo.length, 2)
          assert.isUndefined(login.kept)
        }),
      clientTimeout
    )
  }

  it.effect(
    "learns that the person refused (version 2)",
    () =>
      Effect.gen(function* () {
        const { mcp } = yield* McpService
        const login = new Login()
        const connection = sdkClients["version 2, newest protocol"](mcp, login)
        yield* failureOf(connection.connect)
        const callback = yield* Effect.promise(() =>
          authorize(login.sentTo[0]!.href, { localSecret: localSecretOf(mcp), decision: "deny" })
        )
        assert.include(String(yield* failureOf(() => connection.finish(callback))), "did not allow")
        assert.isUndefined(login.kept)
      }),
    clientTimeout
  )
})

/** Revokes every connection of the account. */
const disconnectAll = Effect.fnUntraced(function* (url: string, key: string) {
  const { text } = yield* call(`${url}/v1/_connections`, { key })
  const { connections } = JSON.parse(text) as { readonly connections: ReadonlyArray<{ readonly id: string }> }
  assert.isNotEmpty(connections, text)
  for (const { id } of connections) {
    const answer = yield* Effect.promise(() =>
      fetch(`${url}/v1/_connections/${id}`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } })
    )
    assert.isTrue(answer.ok, `${answer.status}`)
  }
})
