import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { done, newConnection, rpcOf } from "../../support/Mcp.ts"
import { bodyOf, serviceLayer, type Answer } from "../../support/TestService.ts"
import { narrowed } from "./Listing.ts"
import { initialize, rpc, send, type Failed } from "./Messages.ts"

const assertFlooded = (answer: Answer) => {
  assert.strictEqual(answer.status, 429, answer.text)
  const seconds = Number(answer.headers.get("retry-after"))
  assert.isAtLeast(seconds, 1)
  const { error } = bodyOf<Failed>(answer)
  assert.strictEqual(error.code, 429)
  assert.match(
    error.message,
    /^This (connection|account) may send [\d,]+ messages a minute here\. Try again in \d+ second/
  )
  return error.message
}

// Three calls a minute, and so thirty messages; an account two connections' worth.
const limited = {
  LIMIT_WRITES_PER_MINUTE: "1",
  LIMIT_READS_PER_MINUTE: "2",
  LIMIT_ACCOUNT_WRITES_PER_MINUTE: "2",
  LIMIT_ACCOUNT_READS_PER_MINUTE: "4"
}

layer(serviceLayer(limited), { excludeTestServices: true })("The messages of a connection", (it) => {
  it.effect("44 are limited whatever they ask for, and leave calls their own limits", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* send(token, initialize("2025-11-25"))
      yield* send(token, { jsonrpc: "2.0", method: "notifications/initialized" })
      yield* send(token, rpc("tools/list"))
      yield* done(token, "add", { table: "t", row: {} })
      yield* done(token, "list_tables")
      yield* done(token, "count", { table: "t" })
      for (let n = 6; n < 30; n++) assert.strictEqual((yield* send(token, rpc("ping"))).status, 200)
      for (const message of [rpc("ping"), rpc("tools/list"), initialize("2025-11-25"), "no JSON"]) {
        // On a slow machine more are let in meanwhile.
        const refused = yield* Effect.repeat(send(token, message), { until: ({ status }) => status === 429 })
        assert.include(assertFlooded(refused), "This connection may send 30 ")
      }
    })
  )

  it.effect("44 count one by one in a batch, which is refused whole where they are too many", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const pings = (count: number) => Array.from({ length: count }, (_, id) => rpc("ping", undefined, id))
      assert.strictEqual((yield* send(token, pings(25))).status, 200)
      assertFlooded(yield* send(token, pings(10)))
      assert.strictEqual((yield* send(token, pings(4))).status, 200)
    })
  )

  it.effect("44 are more where a body is large, so that as few of those are read", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const large = `${" ".repeat(2_621_440)}${JSON.stringify(rpc("ping"))}`
      for (let n = 0; n < 2; n++) assert.strictEqual((yield* send(token, large)).status, 200)
      assertFlooded(yield* send(token, large))
      assert.strictEqual((yield* send(token, rpc("ping"))).status, 200)
    })
  )

  it.effect("44 are one where a body is refused unread, however large it says to be", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (let n = 0; n < 5; n++) assert.strictEqual((yield* send(token, " ".repeat(9_000_000))).status, 413)
      assert.strictEqual((yield* send(token, rpc("ping"))).status, 200)
    })
  )

  it.effect("44 are limited of all connections of an account together, and of no other account", () =>
    Effect.gen(function* () {
      const first = yield* newConnection()
      const second = yield* newConnection(undefined, first)
      const third = yield* newConnection(undefined, first)
      for (const { token } of [first, second]) {
        for (let n = 0; n < 30; n++) assert.strictEqual((yield* send(token, rpc("ping"))).status, 200)
      }
      const pings = Array.from({ length: 25 }, (_, id) => rpc("ping", undefined, id))
      assert.include(assertFlooded(yield* send(third.token, pings)), "This account may send 60 ")
      const other = yield* newConnection()
      assert.strictEqual((yield* send(other.token, rpc("ping"))).status, 200)
    })
  )
})

layer(serviceLayer(), { excludeTestServices: true })("Bodies of messages", (it) => {
  const assertUnread = (answer: Answer, code: number, words: RegExp) => {
    assert.strictEqual(answer.status, 400, answer.text.slice(0, 300))
    const { error } = bodyOf<Failed>(answer)
    assert.strictEqual(error.code, code, error.message)
    assert.match(error.message, words)
    assert.isAtMost(error.message.length, 500)
  }

  it.effect("19 are refused with the place of what is no JSON, or not acceptable, in words of the service", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const call = (args: string) =>
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":${args}}}`
      const deep = "[".repeat(200) + "]".repeat(200)
      for (const [body, code, words] of [
        ['{"jsonrpc":"2.0",}', -32_700, /line 1, column 18/],
        ['[{"jsonrpc":"2.0"},\n{"id":01}]', -32_700, /line 2, column 8/],
        [call('{"table":"t","row":{"a":tru}}'), -32_700, /^\/params\/arguments\/row\/a: .*column/],
        [`[${call("{}")},${call('{"a":}')}]`, -32_700, /^\/1\/params\/arguments\/a: /],
        [`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}`, -32_700, /100 levels/],
        ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32_600, /^\/id: The name "id" occurs twice/],
        [JSON.stringify(Array.from({ length: 101 }, () => rpc("ping"))), -32_600, /at most 100 messages/],
        [JSON.stringify(rpc("ping", { a: "x".repeat(131_072) })), -32_600, /^\/params\/a .* 131,072 characters/],
        [JSON.stringify(rpc("ping", { a: Array.from({ length: 70_000 }, () => 0) })), -32_600, /131,072 characters/],
        [
          JSON.stringify(rpc("ping", Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`a${n}`, n])))),
          -32_600,
          /^\/params must have at most 100 members\.$/
        ]
      ] as const) {
        assertUnread(yield* send(token, body), code, words)
      }
    })
  )

  it.effect("19 may be as small only as reading needs from a connection that may only read", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("read")
      const padded = (bytes: number) => JSON.stringify(rpc("ping")).padStart(bytes)
      assert.strictEqual((yield* send(token, padded(262_144))).status, 200)
      const answer = yield* send(token, padded(262_145))
      assert.strictEqual(answer.status, 413)
      assert.include(rpcOf<Failed>(answer).error.message, "262144 bytes")
    })
  )

  it.effect("41 tell a call that its arguments are too long or too many, each by its own id", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const problemOf = Effect.fnUntraced(function* (name: string, args: unknown) {
        const answer = yield* send(token, rpc("tools/call", { name, arguments: args }, "own"))
        const { id, result } = rpcOf<{ id: unknown; result: { isError?: boolean; content: [{ text: string }] } }>(
          answer
        )
        assert.strictEqual(id, "own")
        assert.isTrue(result.isError, answer.text.slice(0, 300))
        return JSON.parse(result.content[0].text) as { code: string; detail: string }
      })
      const items = (count: number) => Array.from({ length: count }, () => 0)
      const adds = Array.from({ length: 101 }, () => ({ action: "add", row: {} }))
      for (const [name, args, words] of [
        ["upsert", { table: "t", key: "a", row: { a: "x".repeat(500_000) } }, /458,752 characters/],
        ["query", { table: "t", filter: { a: "x".repeat(500_000) } }, /458,752 characters/],
        ["upsert", { table: "t", key: items(300), row: {} }, /\/key must name at most 32 fields/],
        ["remember_code", { title: "a", content: "b", tags: items(1001) }, /\/tags must hold at most 1000 words/],
        ["add", { table: "t", rows: items(101) }, /\/rows must hold at most 100 rows/],
        ["batch", { table: "t", operations: adds }, /\/operations must hold .*100 operations/],
        ["batch", { table: "t", operations: JSON.stringify(adds) }, /\/operations must hold .*100 operations/],
        ["batch", { table: "t", operations: items(500_000) }, /\/operations must hold .*100 operations/],
        [
          "add",
          { table: "t", row: {}, ...Object.fromEntries(items(30).map((_, n) => [`x${n}`, n])) },
          /^\/x20 is not known here/
        ]
      ] as const) {
        const problem = yield* problemOf(name, args)
        assert.strictEqual(problem.code, "invalid_request", name)
        assert.match(problem.detail, words)
        assert.isAtMost(JSON.stringify(problem).length, 10_000)
      }
    })
  )
})
