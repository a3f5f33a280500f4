import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { setClock } from "../../support/Database.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, wire } from "../wire/Wire.ts"
import { makeLinks, save, withRow } from "./LinkCalls.ts"

const neverMade = `/view/${"a".repeat(20)}_${"b".repeat(43)}`

const withoutNonce = (text: string) => text.replaceAll(/nonce="[^"]*"/g, "")

layer(serviceLayer({ BASE_URL: "http://localhost:4567" }))("Links", (it) => {
  it.effect("of a query whose filter is beyond today's bounds answer as if they had never been", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, apiKey } = yield* newAccount
      const query = yield* makeLinks(apiKey, "query", { table: "notes", filter: { n: 1 } })
      const fields = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`n${index}`, 1]))
      yield* sql`
        UPDATE links SET target = replace(target, '{"n":1}', ${JSON.stringify(fields)}) WHERE account_id = ${accountId}
      `
      const over = yield* wire("GET", query.view)
      assert.deepStrictEqual(
        [over.status, withoutNonce(over.text)],
        [404, withoutNonce((yield* wire("GET", neverMade)).text)]
      )
      for (const path of [`${query.view}/download`, query.download]) {
        assertProblem(yield* wire("GET", path), 404, "not_found")
      }
    })
  )

  it.effect("P31 end with their key, as if they had never been", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const made = yield* wire("POST", "/v1/_keys", { key: apiKey, body: '{"name":"app"}' })
      const app = jsonOf<{ id: string; api_key: string }>(made)
      const query = yield* makeLinks(app.api_key, "query", { table: "notes" })
      assert.strictEqual((yield* wire("GET", query.download)).text, '{"rows":[],"has_more":false}')
      yield* wire("DELETE", `/v1/_keys/${app.id}`, { key: apiKey })
      const never = yield* wire("GET", neverMade)
      const over = yield* wire("GET", query.view)
      assert.deepStrictEqual([over.status, withoutNonce(over.text)], [404, withoutNonce(never.text)])
      assert.strictEqual(withoutNonce((yield* wire("GET", "/view/x")).text), withoutNonce(never.text))
      for (const path of [`${query.view}/download`, query.download]) {
        const problem = assertProblem(yield* wire("GET", path), 404, "not_found")
        const ofUnknown = assertProblem(yield* wire("GET", `${neverMade}/download`), 404, "not_found")
        assert.deepStrictEqual({ ...problem, request_id: "" }, { ...ofUnknown, request_id: "" })
      }
    })
  )

  it.effect("end after their minutes", () =>
    Effect.gen(function* () {
      const { links, updated_at } = yield* withRow('{"n":1}')
      yield* setClock("59 minutes")
      assert.strictEqual((yield* wire("GET", links.view)).status, 200)
      yield* setClock("61 minutes")
      assert.strictEqual((yield* wire("GET", links.view)).status, 404)
      assertProblem(yield* wire("GET", links.download), 404, "not_found")
      assertProblem(yield* save(links.view, `{"updated_at":"${updated_at}","patch":{}}`), 404, "not_found")
      yield* setClock("0 minutes")
    })
  )
})
