import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { queryObjects } from "node:v8"
import { done, newConnection, rpcOf, type ToolAnswer } from "../support/Mcp.ts"
import { callMcp } from "../support/OAuth.ts"
import { rpc, send, sendModern } from "../server/mcp/Messages.ts"
import { request, serviceLayer, type Answer } from "../support/TestService.ts"

/** What is alive once nothing unused is left, which counting collects: functions, and bytes of all kinds. */
const alive = Effect.gen(function* () {
  const functions = queryObjects(Function, { format: "count" })
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  // Counting holds everything up for seconds: by then idle connections are over, which the next request finds out.
  for (let n = 0; n < 5; n++) yield* Effect.exit(request("GET", "/health"))
  return { functions, bytes: heapUsed + arrayBuffers }
})

const callText = (name: string, args: object) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } })

const slow = Array.from({ length: 100 }, (_, n) => ({ action: "add", row: { n, text: "x".repeat(2000) } }))

layer(serviceLayer(), { excludeTestServices: true })("Clients of /mcp at once:", (it) => {
  // https://github.com/modelcontextprotocol/typescript-sdk/issues/742
  it.effect("C43 P33 one that goes away takes no answer from another", () =>
    Effect.gen(function* () {
      const [leaving, staying] = [yield* newConnection(), yield* newConnection()]
      const args = (owner: string) => ({
        table: "t",
        operations: [...slow.slice(1), { action: "add", row: { owner } }]
      })
      const left = yield* Effect.forkChild(callMcp(leaving.token, { body: callText("batch", args("leaving")) }))
      const answers = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 10 }, () =>
            callMcp(staying.token, { body: callText("batch", { ...args("staying"), dryRun: true }) })
          ),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.yieldNow
      yield* Fiber.interrupt(left)
      for (const answer of yield* Fiber.join(answers)) {
        const { result } = rpcOf<{ result: ToolAnswer }>(answer)
        assert.isUndefined(result.isError)
        assert.lengthOf(result.structuredContent!["results"] as [], 100)
      }
      // What the other one wrote is there wholly, or not at all.
      const { count } = yield* done(leaving.token, "count", { table: "t" })
      assert.include([0, 100], count)
    })
  )

  it.effect(
    "C43 P33 leave nothing behind in memory after 1,500 calls, be they of one era or the other, answered or refused",
    () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        yield* done(token, "add", { table: "t", row: { text: "x".repeat(6000) } })
        const paramsOf = (n: number) => ({ name: "query", arguments: n % 2 === 0 ? { table: "t" } : { limit: 0 } })
        const callOf = (n: number) => rpc("tools/call", paramsOf(n), n)
        const repeated = <E, R>(count: number, send: (n: number) => Effect.Effect<Answer, E, R>) =>
          Effect.forEach(
            Array.from({ length: count }, (_, n) => n),
            (n) => Effect.map(send(n), ({ status }) => assert.strictEqual(status, 200)),
            { concurrency: 8, discard: true }
          )
        const legacy = (requests: number, batches: number) =>
          Effect.andThen(
            repeated(requests, (n) => send(token, callOf(n))),
            repeated(batches, () =>
              send(
                token,
                Array.from({ length: 40 }, (_, n) => callOf(n))
              )
            )
          )
        const modern = (requests: number) =>
          repeated(requests, (n) => sendModern(token, "tools/call", paramsOf(n), { "mcp-name": "query" }))
        yield* Effect.andThen(legacy(100, 4), modern(100))
        const first = yield* alive
        yield* legacy(400, 8)
        const second = yield* alive
        yield* modern(420)
        const third = yield* alive
        for (const [era, before, after] of [
          ["legacy", first, second],
          ["modern", second, third]
        ] as const) {
          // One function left by each request, or by each call, would be more than twice as many.
          assert.isBelow(after.functions - before.functions, 200, era)
          // Calls that kept the rows of their answers would keep more.
          assert.isBelow(after.bytes - before.bytes, 1_250_000, era)
        }
      }),
    300_000
  )
})
