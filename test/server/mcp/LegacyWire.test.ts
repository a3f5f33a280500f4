import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import { done, newConnection, rpcOf } from "../../support/Mcp.ts"
import { bodyOf, request, serviceLayer, type Answer } from "../../support/TestService.ts"
import { wire } from "../wire/Wire.ts"
import { initialize, rpc, send, type Failed } from "./Messages.ts"
import { within } from "../../support/OwnTime.ts"

const resultOf = (answer: Answer) => rpcOf<{ result: Record<string, unknown> }>(answer).result

const assertFails = (answer: Answer, status: number, code: number) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(rpcOf<Failed>(answer).error.code, code)
}

/** All messages of an event stream. */
const messagesOf = (answer: Answer) =>
  [...answer.text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!) as Record<string, unknown>)

layer(serviceLayer(), { excludeTestServices: true })("The legacy wire", (it) => {
  it.effect("13 answers each revision in itself and newer ones in the newest, without a session", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const versions = {
        "2024-11-05": "2024-11-05",
        "2025-03-26": "2025-03-26",
        "2025-06-18": "2025-06-18",
        "2025-11-25": "2025-11-25",
        "2026-07-28": "2025-11-25",
        "2099-01-01": "2025-11-25"
      }
      for (const [asked, given] of Object.entries(versions)) {
        const answer = yield* send(token, initialize(asked))
        const result = resultOf(answer)
        assert.strictEqual(result["protocolVersion"], given)
        assert.deepInclude(result["serverInfo"], { name: "agent-memory", version: packageJson.version })
        assert.match(String(result["instructions"]), /list_tables/)
        assert.isNull(answer.headers.get("mcp-session-id"))
      }
    })
  )

  it.effect("14 takes notifications and answers without a word, and answers a ping", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const initialized = { jsonrpc: "2.0", method: "notifications/initialized" }
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }
      const response = { jsonrpc: "2.0", id: 4, result: {} }
      for (const message of [initialized, cancelled, response, [initialized, cancelled], [response]]) {
        const answer = yield* send(token, message)
        assert.strictEqual(answer.status, 202)
        assert.strictEqual(answer.text, "")
      }
      assert.deepStrictEqual(resultOf(yield* send(token, rpc("ping"))), {})
    })
  )

  it.effect("14 answers under the id that was sent, whatever it is", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const id of [0, -1, 9007199254740991, "", "a\u2028b", "1"]) {
        assert.deepStrictEqual(rpcOf(yield* send(token, rpc("ping", undefined, id)))["id"], id)
      }
    })
  )

  it.effect("14 answers each request of a batch once, and none for its notifications", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const add = (n: number, id: unknown) =>
        rpc("tools/call", { name: "add", arguments: { table: "t", returnRows: true, row: { n } } }, id)
      const batch = [add(1, "a"), add(2, 0), { jsonrpc: "2.0", method: "notifications/initialized" }, rpc("no", {}, 8)]
      const answers = messagesOf(yield* send(token, batch))
      assert.sameMembers(
        answers.map(({ id }) => id),
        ["a", 0, 8]
      )
      const rows = answers.flatMap(({ id, result }) =>
        result === undefined
          ? []
          : [[id, (result as { structuredContent: { row: { n: number } } }).structuredContent.row.n]]
      )
      assert.sameDeepMembers(rows, [
        ["a", 1],
        [0, 2]
      ])
      assert.deepInclude(yield* done(token, "count", { table: "t" }), { count: 2 })
    })
  )

  it.effect("15 needs no handshake and no version", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const answer = yield* send(token, rpc("tools/list"))
      assert.lengthOf(resultOf(answer)["tools"] as Array<unknown>, 20)
    })
  )

  it.effect("16 refuses a version that never was", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const answer = yield* send(token, rpc("ping"), { "mcp-protocol-version": "1999-01-01" })
      assert.strictEqual(answer.status, 400)
      assert.include(rpcOf<Failed>(answer).error.message, "2025-11-25")
    })
  )

  it.effect("17 ignores sessions and event ids of earlier days", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const answer = yield* send(token, rpc("ping"), { "mcp-session-id": "dead", "last-event-id": "7" })
      assert.deepStrictEqual(resultOf(answer), {})
    })
  )

  it.effect("18 does not know methods that it does not offer", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const method of [
        "resources/list",
        "prompts/list",
        "logging/setLevel",
        "completion/complete",
        "constructor"
      ]) {
        assertFails(yield* send(token, rpc(method, {})), 200, -32_601)
      }
    })
  )

  it.effect("19 refuses what is no message, and batches of more than 100", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const body of ["", "{", '{"a":1} x', "\ufeff{}"]) assertFails(yield* send(token, body), 400, -32_700)
      for (const body of ["null", "1", "[]", "{}", "[1]", "[[]]", '{"id":1,"method":"ping"}']) {
        assertFails(yield* send(token, body), 400, -32_600)
      }
      for (const id of [null, 1.5, {}, true]) assertFails(yield* send(token, rpc("ping", undefined, id)), 400, -32_600)
      const batch = Array.from({ length: 101 }, (_, id) => rpc("ping", undefined, id))
      assertFails(yield* send(token, batch), 400, -32_600)
      assert.lengthOf(messagesOf(yield* send(token, batch.slice(1))), 100)
    })
  )

  it.effect("19 takes JSON in UTF-8 alone, uncompressed, and takes no type at all for it", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
        assert.strictEqual((yield* send(token, rpc("ping"), { "content-type": type })).status, 415)
      }
      assert.strictEqual((yield* send(token, rpc("ping"), { "content-encoding": "gzip" })).status, 415)
      const latin = yield* send(token, rpc("ping"), { "content-type": "application/json; charset=latin1" })
      assertFails(latin, 400, -32_700)
      assert.include(latin.text, "must be in UTF-8")
      assert.strictEqual(
        (yield* send(token, rpc("ping"), { "content-type": "application/JSON; charset=UTF-8" })).status,
        200
      )
      const body = JSON.stringify(rpc("ping"))
      const headers = { authorization: `Bearer ${token}`, "content-length": String(body.length) }
      const answer = yield* wire("POST", "/mcp", { headers, body })
      assert.strictEqual(answer.status, 200)
      const illFormed = yield* wire("POST", "/mcp", {
        headers: { authorization: headers.authorization },
        body: Buffer.from([0x22, 0xff, 0x22])
      })
      assert.strictEqual(illFormed.status, 400)
      assert.include(illFormed.text, "-32700")
    })
  )

  it.effect("19 takes the largest legal call, and nothing over the limit", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const text = "x".repeat(65_000)
      const operations = Array.from({ length: 100 }, () => ({ action: "add", row: { text } }))
      const { results } = yield* done(token, "batch", { table: "big", operations })
      assert.lengthOf(results as Array<unknown>, 100)
      const answer = yield* send(token, `${" ".repeat(8_388_608)}{}`)
      assert.strictEqual(answer.status, 413)
      assert.include(answer.text, "8388608")
    })
  )

  it.effect("19 answers what is nested too deep at once, wherever it is", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const levels of [101, 5000, 30_000]) {
        const deep = "[".repeat(levels) + "]".repeat(levels)
        const bodies = [
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"table":"t","row":{"a":${deep}}}}}`,
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tables","_meta":{"a":${deep}}}}`,
          `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}`,
          deep
        ]
        for (const body of bodies) {
          const answer = yield* send(token, body).pipe(within(2000))
          assert.isBelow(answer.status, 500, answer.text)
          assert.notInclude(answer.text, "-32603")
        }
        assert.include((yield* send(token, bodies[0]!)).text, "too_deep")
      }
    })
  )

  it.effect("20 serves every client, whatever it accepts, and gives JSON where no stream is asked for", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const accept of ["application/json", "*/*", "text/html", "application/json;q=0.1", ""]) {
        const answer = yield* send(token, rpc("ping"), { accept })
        assert.strictEqual(answer.status, 200, accept)
        assert.strictEqual(answer.headers.get("content-type"), "application/json")
        assert.deepStrictEqual(bodyOf(answer), { jsonrpc: "2.0", id: 1, result: {} })
        const batch = yield* send(token, [rpc("ping", undefined, 1), rpc("ping", undefined, 2)], { accept })
        assert.lengthOf(bodyOf<Array<unknown>>(batch), 2)
      }
      const stream = yield* send(token, rpc("ping"), { accept: "text/event-stream" })
      assert.strictEqual(stream.headers.get("content-type"), "text/event-stream")
      const headers = { authorization: `Bearer ${token}` }
      assert.strictEqual((yield* wire("POST", "/mcp", { headers, body: JSON.stringify(rpc("ping")) })).status, 200)
    })
  )

  it.effect("20 gives separators of lines within a text to clients of JSON as they are", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const row = { text: "a\u2028b\u2029\rc" }
      const call = rpc("tools/call", { name: "add", arguments: { table: "t", returnRows: true, row } })
      const answer = yield* send(token, call, { accept: "application/json" })
      const { result } = bodyOf<{ result: { structuredContent: { row: { text: string } } } }>(answer)
      assert.strictEqual(result.structuredContent.row.text, "a\u2028b\u2029\rc")
    })
  )

  it.effect("21 behaves the same with a slash at the end of the address", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const headers = { authorization: `Bearer ${token}`, origin: "https://claude.ai" }
      const answer = yield* request("POST", "/mcp/", { body: JSON.stringify(rpc("ping")), headers })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), "https://claude.ai")
      const asked = yield* request("POST", "/mcp/?x=1", { body: "{}" })
      assert.strictEqual(asked.status, 401)
      assert.include(asked.headers.get("www-authenticate") ?? "", "/.well-known/oauth-protected-resource/mcp")
      const foreign = yield* request("POST", "/mcp/", { body: "{}", headers: { origin: "https://evil.example" } })
      assert.strictEqual(foreign.status, 403)
      const preflight = yield* request("OPTIONS", "/mcp/", { headers })
      assert.strictEqual(preflight.status, 204)
      assert.include(preflight.headers.get("access-control-allow-headers") ?? "", "Authorization")
      assert.strictEqual((yield* request("GET", "/mcp/", { headers })).status, 405)
      for (const path of ["/mcp//", "/mcp/x", "/v1/t/"]) assert.strictEqual((yield* request("GET", path)).status, 404)
    })
  )
})
