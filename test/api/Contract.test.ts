import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpClientRequest, HttpServer } from "effect/http"
import { HttpApiMiddleware, HttpApiTest } from "effect/http-api"
import { Api } from "../../src/api/Api.ts"
import { Authentication } from "../../src/api/Middleware.ts"
import { HandlersLayer, MiddlewareLayer } from "../../src/App.ts"
import type { JsonText } from "../../src/domain/json/JsonText.ts"
import { scan } from "../../src/domain/json/ParseEnvelope.ts"
import { newAccount, servicesLayer } from "../support/TestService.ts"

const groups = ["auth", "tables", "keys", "versions", "rows"] as const

const json = (text: string): JsonText => scan(text).value!

/** The client that derives from the contract, as one account's application has it. */
const clientOf = (apiKey: string) =>
  HttpApiTest.groups(Api, groups).pipe(
    Effect.provide(
      HttpApiMiddleware.layerClient(Authentication, ({ next, request }) =>
        next(HttpClientRequest.bearerToken(request, apiKey))
      )
    )
  )

const ServiceLayer = Layer.merge(HandlersLayer, HttpServer.layerServices).pipe(
  Layer.provideMerge(MiddlewareLayer),
  Layer.provideMerge(servicesLayer())
)

layer(ServiceLayer)("The derived client", (it) => {
  it.effect("writes and reads rows exactly", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const client = yield* clientOf(apiKey)
      const params = { table: "tasks" }
      const own = String.raw`"n":1.10,"big":12345678901234567890,"s":"\u0000"`
      const added = yield* client.rows.add({ params, headers: {}, payload: json(`{${own}}`) })
      const { has_more, rows } = yield* client.rows.query({ params, query: { limit: 1, filter: `{"n":1.1}` } })
      assert.isFalse(has_more)
      assert.deepStrictEqual(
        rows.map((row) => row.text),
        [added.text]
      )
      assert.include(added.text, own)
      const upserted = yield* client.rows.upsert({ params, headers: {}, payload: { key: "n", row: json(`{"n":1.1}`) } })
      assert.isFalse(upserted.created)
      const batch = yield* client.rows.batch({
        params,
        headers: {},
        payload: { operations: [{ action: "delete", filter: json(`{"n":1.1}`) }] }
      })
      assert.deepStrictEqual(
        batch.results.map(({ action, result }) => [action, result.text]),
        [["delete", `{"deleted":1}`]]
      )
      assert.deepStrictEqual(yield* client.tables.list({ query: {} }), { tables: [{ name: "tasks", rows: 0 }] })
    })
  )

  it.effect("fails with the contract's typed problems", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const client = yield* clientOf(apiKey)
      const problem = yield* client.rows
        .updateRow({ params: { table: "tasks" }, headers: {}, payload: { id: "none", patch: json("{}") } })
        .pipe(Effect.flip)
      assert.strictEqual(problem._tag, "RowNotFound")
      const refused = yield* clientOf("svc_live_mistyped")
      assert.strictEqual((yield* Effect.flip(refused.keys.list({ query: {} })))._tag, "Unauthenticated")
    })
  )

  it.effect("imports what another account exports, and shows what it uses", () =>
    Effect.gen(function* () {
      const [one, other] = yield* Effect.all([newAccount, newAccount])
      const [from, to] = [yield* clientOf(one.apiKey), yield* clientOf(other.apiKey)]
      yield* from.rows.add({ params: { table: "tasks" }, headers: {}, payload: json('{"n":1.10}') })
      const { tables } = yield* from.tables.export()
      const answer = yield* to.tables.import({ headers: {}, query: { dry_run: false }, payload: { tables } })
      assert.deepStrictEqual(answer, { tables: 1, rows: 1 })
      const { tables: again } = yield* to.tables.export()
      assert.deepStrictEqual(
        again["tasks"]?.map(({ text }) => text),
        tables["tasks"]?.map(({ text }) => text)
      )
      const { account_id, storage_bytes } = yield* to.tables.usage()
      assert.deepStrictEqual([account_id, storage_bytes], [other.accountId, 10])
      const refused = yield* Effect.flip(to.tables.import({ headers: {}, query: {}, payload: { tables } }))
      assert.strictEqual(refused._tag, "IdExists")
    })
  )

  it.effect("creates, lists and revokes keys", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const client = yield* clientOf(apiKey)
      const { api_key, id } = yield* client.keys.create({ headers: {}, payload: { name: "app" } })
      const app = yield* clientOf(api_key)
      assert.include(
        (yield* app.keys.list({ query: {} })).keys.map((key) => key.name),
        "app"
      )
      assert.deepStrictEqual(yield* client.keys.revoke({ params: { id } }), { revoked: 1 })
      assert.strictEqual((yield* Effect.flip(app.keys.list({ query: {} })))._tag, "Unauthenticated")
    })
  )
})
