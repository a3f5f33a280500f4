import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { longestBlock } from "../../support/LongestTurn.ts"
import { call } from "../../support/ServiceProcess.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { narrowed } from "./Listing.ts"
import { rpc } from "./Messages.ts"

const mib = 1_048_576
const largest = 8 * mib

/** A body of so many bytes at most: a piece as often as it fits between the ends. */
const filled = (head: string, piece: string, tail: string, size = largest) =>
  head + piece.repeat(Math.floor((size - head.length - tail.length) / piece.length)).replace(/,$/, "") + tail

const called = (tool: string, args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":{"table":"t",${args}`
const pinged = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
const deep = "[".repeat(30_000) + "]".repeat(30_000)
const operation = { action: "add", row: { a: "x".repeat(60_000) } }

/** Bodies of a connection that may do everything, with the status and a word of their answers. */
const bodies: Readonly<Record<string, readonly [body: string, status: number, word: string]>> = {
  "a ping of zeros": [filled(`${pinged}[`, "0,", "]}}"), 400, "-32600"],
  "a ping of lists": [filled(`${pinged}[`, "[],", "]}}"), 400, "-32600"],
  "30,000 levels": [filled(`${pinged}["`, "x", `",${deep}]}}`), 400, "-32700"],
  "a method of escapes": [filled('{"jsonrpc":"2.0","id":1,"method":"', "\\u0061", '"}'), 400, "-32600"],
  "a batch of small messages": [filled("[", "{},", "]"), 400, "-32600"],
  "members of a message": [filled('{"jsonrpc":"2.0"', ',"\\u0061":0', "}"), 400, "-3260"],
  "arguments of 30,000 levels": [filled(called("batch", '"operations":["'), "x", `",${deep}]}}}`), 200, "isError"],
  "operations that are zeros": [filled(called("batch", '"operations":['), "0,", "]}}}"), 200, "isError"],
  "operations in a text": [filled(called("batch", '"operations":"['), "{},", ']"}}}'), 200, "isError"],
  "words to find a memory by": [
    filled(called("remember_code", '"title":"a","content":"b","tags":['), '"",', "]}}}"),
    200,
    "isError"
  ],
  "a filter of zeros": [filled(called("query", '"filter":{"a":['), "0,", "]}}}}"), 200, "isError"],
  "no JSON at all": [filled("{", '"\\', ""), 400, "-32700"],
  "a hundred lists of tools": [
    JSON.stringify(Array.from({ length: 100 }, (_, id) => rpc("tools/list", undefined, id))),
    200,
    "list_tables"
  ],
  "the largest legal call": [
    JSON.stringify(
      rpc("tools/call", {
        name: "batch",
        arguments: {
          table: "t",
          dryRun: true,
          returnRows: true,
          operations: Array.from({ length: 100 }, () => operation)
        }
      })
    ),
    200,
    "has_more"
  ]
}

const suite = BoundedService.thriftyLayer.pipe(Layer.provideMerge(serviceLayer()))

layer(suite, { excludeTestServices: true, timeout: "90 seconds" })("The worst message", (it) => {
  it.effect("blocks nobody for long, and takes no more than five times its size", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const { apiKey } = yield* newAccount
      const service = yield* BoundedService
      // Whoever is refused while sending may be hung up on before the refusal is read, where the machine is busy.
      const send = (body: string) =>
        Effect.retry(call(`${service.url}/mcp`, { key: token, body, headers: { accept: "application/json" } }), {
          times: 2
        })
      // What runs for the first time is slow, and stays in memory.
      for (const method of ["ping", "tools/list"]) yield* send(JSON.stringify(rpc(method)))
      yield* send(`${called("batch", '"operations":[]')}}}}`)
      const worse: Array<string> = []
      for (const [name, [body, status, word]] of Object.entries(bodies)) {
        yield* service.strain
        const [answer, other] = yield* Effect.all([send(body), call(`${service.url}/v1/_usage`, { key: apiKey })], {
          concurrency: "unbounded"
        })
        const { blocked, grown } = yield* service.strain
        assert.strictEqual(other.status, 200, name)
        assert.strictEqual(answer.status, status, `${name} ${answer.text.slice(0, 300)}`)
        assert.include(answer.text, word, `${name} ${answer.text.slice(0, 300)}`)
        // The answer is held as its messages, and as the text and bytes that the library and we make of them.
        const most = 5 * body.length + 4 * answer.text.length + 8 * mib
        if (blocked >= longestBlock() || grown > most) worse.push(`${name}: ${blocked} ms, ${grown} bytes`)
      }
      assert.deepStrictEqual(worse, [])
    })
  )

  it.effect("of a connection that may only read is refused unread, and others are answered meanwhile", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("read")
      const { apiKey } = yield* newAccount
      const service = yield* BoundedService
      const ping = filled(`${pinged}[`, "0,", "]}}")
      yield* service.strain
      const answers = yield* Effect.forEach(
        [1, 2, 3, 4, 5],
        () =>
          Effect.all([
            Effect.retry(call(`${service.url}/mcp`, { key: token, body: ping }), { times: 2 }),
            call(`${service.url}/v1/_usage`, { key: apiKey })
          ]),
        { concurrency: "unbounded" }
      )
      for (const [refused, other] of answers) {
        assert.strictEqual(refused.status, 413)
        assert.strictEqual(other.status, 200)
      }
      assert.isBelow((yield* service.strain).blocked, longestBlock())
    })
  )
})
