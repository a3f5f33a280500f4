import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { connect, type Socket } from "node:net"
import { BodyTimes } from "../../../src/server/capacity/ReadBody.ts"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { BaseUrl, bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

/** A connection that has sent this, and gathers what comes back. */
const open = Effect.fnUntraced(function* (sent: string) {
  const { port } = new URL((yield* BaseUrl).url)
  let received = ""
  const socket = yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(sent, () => resume(Effect.succeed(socket))))
      socket.on("error", () => socket.destroy())
      socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  return { socket, received: () => received }
})

const untilClosed = ({ socket, received }: { readonly socket: Socket; readonly received: () => string }) =>
  Effect.callback<string>((resume) => {
    if (socket.closed) resume(Effect.sync(received))
    else socket.once("close", () => resume(Effect.sync(received)))
  })

const head = (key: string, path: string, framing: string) => {
  const isForm = ["/sign-in", "/token", "/revoke"].includes(path)
  const type = isForm ? "application/x-www-form-urlencoded" : "application/json"
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`
}

const assertTimedOut = (answer: string) => {
  assert.match(answer, /^HTTP\/1\.1 408 /)
  assert.match(answer, /content-type: application\/problem\+json/i)
  const problem = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))) as Record<string, unknown>
  assert.deepInclude(problem, { code: "invalid_request", status: 408 })
  assert.match(String(problem["request_id"]), /^[0-9a-f-]{36}$/)
}

layer(serviceLayer().pipe(Layer.provide(Layer.succeed(BodyTimes, { turn: 15_000, silence: 800, whole: 2500 }))), {
  excludeTestServices: true
})("A body that takes too long", (it) => {
  const halves: Record<string, readonly [path: string, framing: string, body: string]> = {
    "with a length": ["/v1/t", "Content-Length: 100", '{"n":'],
    "in chunks": ["/v1/t", "Transfer-Encoding: chunked", '5\r\n{"n":\r\n'],
    "of several megabytes": ["/v1/t/batch", "Content-Length: 8000000", '{"operations":['],
    "of a sign-in": ["/auth/verify", "Content-Length: 100", '{"token":']
  }
  for (const [name, [path, framing, body]] of Object.entries(halves)) {
    it.effect(`${name} and stops halfway is answered with 408, and stores nothing`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        assertTimedOut(yield* untilClosed(yield* open(head(key, path, framing) + body)))
        assert.strictEqual((yield* request("GET", "/v1/t/count", { key })).text, '{"count":0}')
      })
    )
  }

  it.effect("of the sign-in page's form and stops halfway is answered with 408, on a page that says what to do", () =>
    Effect.gen(function* () {
      const answer = yield* untilClosed(yield* open(head("none", "/sign-in", "Content-Length: 100") + "token="))
      assert.match(answer, /^HTTP\/1\.1 408 /)
      assert.match(answer, /content-type: text\/html/i)
      assert.include(answer, "did not arrive in time")
    })
  )

  for (const path of ["/token", "/revoke"]) {
    it.effect(`sent to ${path} and stops halfway is answered with 408, in the words of OAuth`, () =>
      Effect.gen(function* () {
        const answer = yield* untilClosed(yield* open(head("none", path, "Content-Length: 100") + "grant_type="))
        assert.match(answer, /^HTTP\/1\.1 408 /)
        const body: unknown = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")))
        assert.deepInclude(body, { error: "invalid_request" })
      })
    )
  }

  it.effect("though something comes all the time is answered with 408", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const slow = yield* open(head(key, "/v1/t", "Content-Length: 400000"))
      const drip = Effect.forever(
        Effect.andThen(
          Effect.sync(() => slow.socket.write(" ")),
          Effect.sleep("50 millis")
        )
      )
      assertTimedOut(yield* Effect.raceFirst(untilClosed(slow), drip))
    })
  )

  it.effect("only as a whole, and comes in time piece by piece, is stored", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { received, socket } = yield* open(head(key, "/v1/t", "Connection: close\r\nContent-Length: 7"))
      for (const letter of '{"n":1}') {
        socket.write(letter)
        yield* Effect.sleep("150 millis")
      }
      assert.match(yield* untilClosed({ received, socket }), /^HTTP\/1\.1 201 /)
    })
  )
})

/** A batch of a little more than seven megabytes, most of it white space. */
const largeBatch = '{"operations":[{"action":"add","row":{"n":1}}]}'.padEnd(7_500_000)

layer(serviceLayer(), { excludeTestServices: true })("Large bodies", (it) => {
  for (const framing of ["Content-Length: 8000000", "Transfer-Encoding: chunked"]) {
    it.effect(
      `(${framing}) that are never finished keep no other account's waiting, and the account's own until they end`,
      () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          const { apiKey: other } = yield* newAccount
          const start = framing.startsWith("T") ? `200000\r\n${" ".repeat(0x20_00_00)}\r\n` : " ".repeat(2_000_000)
          const unfinished = yield* Effect.forEach(Array.from({ length: 10 }), () =>
            open(head(key, "/v1/t/batch", framing) + start)
          )
          const send = (key: string) => request("POST", "/v1/t/batch", { key, body: largeBatch })
          const others = Effect.forEach([1, 2, 3, 4, 5], () =>
            Effect.map(send(other), ({ status, text }) => assert.strictEqual(status, 200, text))
          )
          // The first of its own bodies may be faster than those that are never finished; from then on they wait.
          const own = yield* Effect.forkScoped(send(key)).pipe(
            Effect.tap(() => others),
            Effect.repeat({ until: (sent) => sent.pollUnsafe() === undefined })
          )
          assert.strictEqual((yield* request("POST", "/v1/t", { key, body: "{}" })).status, 201)
          assert.isUndefined(own.pollUnsafe())
          for (const { socket } of unfinished) socket.destroy()
          const answer = yield* Fiber.join(own)
          assert.strictEqual(answer.status, 200, answer.text)
          assert.strictEqual(bodyOf<{ results: Array<unknown> }>(answer).results.length, 1)
        })
    )
  }
})

layer(serviceLayer().pipe(Layer.provide(Layer.succeed(BodyTimes, { turn: 300, silence: 15_000, whole: 40_000 }))), {
  excludeTestServices: true
})("Large bodies whose turn does not come", (it) => {
  it.effect("are refused with the reason, before any of them is read", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const begun = head(key, "/v1/t/batch", "Content-Length: 8388608\r\nExpect: 100-continue")
      for (let times = 0; times < 2; times++) {
        const { received } = yield* open(begun)
        yield* waitUntil(() => received().includes("100 Continue"), 5000)
      }
      const refused = yield* untilClosed(yield* open(begun))
      assert.match(refused, /^HTTP\/1\.1 503 /)
      assert.match(refused, /retry-after: [1-9]/i)
      assert.include(refused, "The account sends too many large bodies at once.")
    })
  )
})
