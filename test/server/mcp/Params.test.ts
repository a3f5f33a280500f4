import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newConnection, rpcOf } from "../../support/Mcp.ts"
import { serviceLayer, type Answer } from "../../support/TestService.ts"
import { initialize, meta, rpc, send, sendModern, type Failed } from "./Messages.ts"

const { params: handshake } = initialize("2025-11-25") as unknown as { params: Record<string, unknown> }
const { protocolVersion: _version, ...versionless } = handshake
const { clientInfo: _client, ...nameless } = handshake
const { capabilities: _capabilities, ...incapable } = handshake

/** Params that are not their method's, with the first place at fault. */
const faults: ReadonlyArray<readonly [method: string, params: object | undefined, place: string]> = [
  ["initialize", undefined, "/params"],
  ["initialize", {}, "/params/protocolVersion"],
  ["initialize", versionless, "/params/protocolVersion"],
  ["initialize", { ...handshake, protocolVersion: 20251125 }, "/params/protocolVersion"],
  ["initialize", nameless, "/params/clientInfo"],
  ["initialize", { ...handshake, clientInfo: "test" }, "/params/clientInfo"],
  ["initialize", { ...handshake, clientInfo: { name: "test" } }, "/params/clientInfo/version"],
  ["initialize", { ...handshake, clientInfo: { name: ["a/b"], version: "1" } }, "/params/clientInfo/name"],
  ["initialize", incapable, "/params/capabilities"],
  ["initialize", { ...handshake, capabilities: [] }, "/params/capabilities"],
  ["initialize", { ...handshake, capabilities: { roots: true } }, "/params/capabilities/roots"],
  ["initialize", { ...handshake, capabilities: null }, "/params/capabilities"],
  ["tools/list", { cursor: null }, "/params/cursor"],
  ["tools/list", { cursor: 1 }, "/params/cursor"],
  ["tools/list", { cursor: {} }, "/params/cursor"],
  ["tools/list", { cursor: "x" }, "/params/cursor"],
  ["tools/list", { cursor: "" }, "/params/cursor"],
  ["tools/call", undefined, "/params"],
  ["tools/call", {}, "/params/name"],
  ["tools/call", { name: null, arguments: {} }, "/params/name"],
  ["tools/call", { name: 5 }, "/params/name"],
  ["tools/call", { name: ["query"] }, "/params/name"]
]

/** One sentence of this service's, with the place: no dump of a schema's issues, and no place in a program. */
const assertSentence = (answer: Answer, what: string) => {
  const { error, id } = rpcOf<Failed>(answer)
  assert.strictEqual(error.code, -32_602, `${what} ${answer.text}`)
  assert.strictEqual(id, 1, what)
  assert.match(error.message, /^[^\n{}[\]]{10,200}\.$/, what)
  assert.notMatch(error.message, /Invalid input|expected|received|undefined|zod|\bat .*:\d/i, what)
  return error.message
}

layer(serviceLayer(), { excludeTestServices: true })("Params of messages", (it) => {
  it.effect("41 that are not their method's are refused in one sentence with the place", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const [method, params, place] of faults) {
        const what = `${method} ${JSON.stringify(params)}`
        const answer = yield* send(token, rpc(method, params))
        assert.strictEqual(answer.status, 200, what)
        assert.include(assertSentence(answer, what), `${place} `, what)
      }
    })
  )

  it.effect("41 are refused alike of modern requests, each of which has what it needs otherwise", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const [method, params, place] of faults) {
        if (!method.startsWith("tools/")) continue
        const what = `${method} ${JSON.stringify(params)}`
        const answer = yield* sendModern(token, method, params)
        // What a modern request says of itself is in its params, so that there are some.
        assert.include(assertSentence(answer, what), place === "/params" ? "/params/name " : `${place} `, what)
      }
    })
  )

  it.effect("41 whose _meta is ill-formed make no message, in either era", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const assertNone = (answer: Answer, what: string) => {
        assert.strictEqual(answer.status, 400, what)
        const { code, message } = rpcOf<Failed>(answer).error
        assert.include([-32_600, -32_602], code, what)
        assert.match(message, /^[^\n{}[\]]{10,200}$/, what)
      }
      for (const _meta of [5, "x", [], null]) {
        assertNone(yield* send(token, rpc("tools/list", { _meta })), `${_meta}`)
        if (_meta === null || typeof _meta !== "object") {
          assertNone(yield* sendModern(token, "tools/list", { _meta }), `modern ${_meta}`)
        }
      }
      for (const progressToken of [{}, null, true]) {
        assertNone(yield* send(token, rpc("tools/list", { _meta: { progressToken } })), `${progressToken}`)
        const modern = { _meta: { ...meta, progressToken } }
        assertNone(yield* sendModern(token, "tools/list", modern), `modern ${progressToken}`)
      }
    })
  )

  it.effect("41 are taken with whatever else they hold", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const [method, params] of [
        ["ping", {}],
        ["tools/list", { other: null }],
        ["initialize", { ...handshake, capabilities: { roots: { listChanged: true }, later: { a: 1 } }, other: 1 }]
      ] as const) {
        assert.property(rpcOf(yield* send(token, rpc(method, params))), "result", method)
      }
    })
  )
})
