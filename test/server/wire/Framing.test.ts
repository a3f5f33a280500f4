import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { jsonOf, raw, wire } from "./Wire.ts"

/** The statuses of all answers that came back over one connection. */
const statusesIn = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))

const head = (key: string, line: string, ...headers: ReadonlyArray<string>): string =>
  [line, "Host: localhost", `Authorization: Bearer ${key}`, "Content-Type: application/json", ...headers, "", ""].join(
    "\r\n"
  )

/** A second request that hides in the body of a first one. */
const hidden = (key: string): string =>
  `${head(key, "POST /v1/smuggled HTTP/1.1", "Content-Length: 2", "Connection: close")}{}`

const refused: Readonly<Record<string, (key: string) => string>> = {
  "a length and chunks": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n${hidden(key)}`,
  "chunks and a length": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: 5")}0\r\n\r\n${hidden(key)}`,
  "two lengths": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Content-Length: 2", "Content-Length: 0")}{}${hidden(key)}`,
  "a list of lengths": (key) => `${head(key, "POST /v1/t HTTP/1.1", "Content-Length: 2, 2")}{}${hidden(key)}`,
  "a signed length": (key) => `${head(key, "POST /v1/t HTTP/1.1", "Content-Length: +2")}{}${hidden(key)}`,
  "a hexadecimal length": (key) => `${head(key, "POST /v1/t HTTP/1.1", "Content-Length: 0x2")}{}${hidden(key)}`,
  "a space before the colon": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding : chunked")}0\r\n\r\n${hidden(key)}`,
  "an unknown coding": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding: xchunked")}0\r\n\r\n${hidden(key)}`,
  "chunks that are not last": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding: chunked, identity")}0\r\n\r\n${hidden(key)}`,
  "a folded header": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding:", " chunked", "X: y")}0\r\n\r\n${hidden(key)}`,
  "a NUL in a header": (key) => `${head(key, "GET /v1/t HTTP/1.1", "X: a\u0000b")}${hidden(key)}`,
  "a bare CR in a header": (key) =>
    `${head(key, "GET /v1/t HTTP/1.1", "X: a\rTransfer-Encoding: chunked")}${hidden(key)}`,
  "an empty header name": (key) => `${head(key, "GET /v1/t HTTP/1.1", ": x")}${hidden(key)}`,
  "a size of chunk that is none": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding: chunked")}zz\r\n{}\r\n0\r\n\r\n${hidden(key)}`,
  "a negative size of chunk": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding: chunked")}-2\r\n{}\r\n0\r\n\r\n${hidden(key)}`,
  "a size of chunk beyond all numbers": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding: chunked")}fffffffffffffffff2\r\n{}\r\n0\r\n\r\n${hidden(key)}`,
  "a chunk that is longer than it says": (key) =>
    `${head(key, "POST /v1/t HTTP/1.1", "Transfer-Encoding: chunked")}1\r\n{}\r\n0\r\n\r\n${hidden(key)}`,
  "a version that is none": (key) => head(key, "GET /v1/t HTTP/9.9"),
  "HTTP/2 without having been asked": () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a method in lower case": (key) => head(key, "get /v1/t HTTP/1.1"),
  "the first bytes of TLS": () => "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
  "a space in the address": (key) => head(key, "GET /v1/t /v1/u HTTP/1.1")
}

layer(serviceLayer(), { excludeTestServices: true })("A connection with", (it) => {
  for (const [what, text] of Object.entries(refused)) {
    it.effect(`P23 ${what} is refused once, ended, and hides no request`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const answer = yield* raw(Buffer.from(text(key), "latin1")).pipe(Effect.timeout("10 seconds"))
        assert.deepStrictEqual(statusesIn(answer), [400], answer)
        assert.include(answer, "application/problem+json")
        assert.strictEqual((yield* wire("GET", "/v1/_tables", { key })).text, '{"tables":[]}')
      })
    )
  }

  it.effect("P23 an upgrade, a tunnel or an expectation gets the answer that it would get without", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const last = "Connection: close, upgrade"
      for (const [text, status] of [
        [head(key, "GET /v1/t/count HTTP/1.1", last, "Upgrade: websocket", "Sec-WebSocket-Key: x"), 200],
        [head(key, "GET /v1/t/count HTTP/1.1", last, "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"), 200],
        [head(key, "GET /v1/t/count HTTP/1.1", "Expect: 200-maybe", "Connection: close"), 200],
        [head(key, "GET http://evil.test/v1/t/count HTTP/1.1", "Connection: close"), 421],
        [head(key, "OPTIONS * HTTP/1.1", "Connection: close"), 404]
      ] as const) {
        const answer = yield* raw(text).pipe(Effect.timeout("10 seconds"))
        assert.deepStrictEqual(statusesIn(answer), [status], `${text}\n${answer}`)
      }
      const tunnel = yield* raw(head(key, "CONNECT evil.test:80 HTTP/1.1")).pipe(Effect.timeout("10 seconds"))
      assert.notMatch(tunnel, /^HTTP\/1\.1 2/)
    })
  )

  it.effect("P23 trailers gives them no power: a key in them opens nothing", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const start = "POST /v1/t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
      const answer = yield* raw(
        `${start}Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n2\r\n{}\r\n0\r\nAuthorization: Bearer ${key}\r\n\r\n`
      )
      assert.deepStrictEqual(statusesIn(answer), [401])
    })
  )

  it.effect("P23 50 requests at once answers each, in their order", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const bodies = Array.from({ length: 50 }, (_, n) => `{"n":${n}}`)
      const requests = bodies.map((body, n) => {
        const last = n === 49 ? ["Connection: close"] : []
        return `${head(key, "POST /v1/t HTTP/1.1", `Content-Length: ${body.length}`, ...last)}${body}`
      })
      const answer = yield* raw(requests.join("")).pipe(Effect.timeout("10 seconds"))
      assert.deepStrictEqual(
        [...answer.matchAll(/"n":(\d+)\}/g)].map(([, n]) => Number(n)),
        bodies.map((_, n) => n)
      )
      assert.strictEqual(jsonOf<{ count: number }>(yield* wire("GET", "/v1/t/count", { key })).count, 50)
    })
  )
})

layer(serviceLayer())("Requests that are sent without waiting for answers", (it) => {
  it.effect("are carried out one after another, each seeing what those before it wrote", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const requests = Array.from({ length: 12 }, (_, n) => [
        `${head(key, "POST /v1/t HTTP/1.1", `Content-Length: ${`{"n":${n}}`.length}`)}{"n":${n}}`,
        head(key, "GET /v1/t/count HTTP/1.1")
      ]).flat()
      const answers = yield* raw(requests.join("") + head(key, "GET /v1/t HTTP/1.1", "Connection: close"))
      const counts = [...answers.matchAll(/"count":(\d+)/g)].map(([, count]) => Number(count))
      assert.deepStrictEqual(
        counts,
        Array.from({ length: 12 }, (_, n) => n + 1)
      )
      assert.lengthOf([...answers.matchAll(/HTTP\/1\.1 20[01] /g)], 25)
    })
  )

  it.effect("end their connection when more than a hundred of them wait", () =>
    Effect.gen(function* () {
      const answered = Effect.fnUntraced(function* (count: number) {
        const requests = "GET /v1/t HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(count - 1)
        const answers = yield* raw(requests + head("none", "GET /v1/t HTTP/1.1", "Connection: close"))
        return [...answers.matchAll(/HTTP\/1\.1 401 /g)].length
      })
      assert.strictEqual(yield* answered(101), 101)
      assert.isBelow(yield* answered(102), 102)
      assert.isBelow(yield* answered(1000), 200)
    })
  )
})

layer(serviceLayer({ BASE_URL: "https://memory.example.com", MAIL_TO_STDOUT: "true" }))("A public service", (it) => {
  const heads: Record<string, number> = {
    "1.1\r\nHost: memory.example.com": 200,
    "1.0": 200,
    "1.1": 400,
    "1.1\r\nHost:": 400,
    "1.1\r\nHost: memory.example.com\r\nHost: other.example.com": 400,
    "1.1\r\nHost: memory.example.com\r\nHost: memory.example.com": 400
  }
  for (const [lines, status] of Object.entries(heads)) {
    it.effect(`answers ${status} to a request of HTTP/${lines.replaceAll("\r\n", ", ")}`, () =>
      Effect.gen(function* () {
        const answer = yield* raw(`GET /health HTTP/${lines}\r\nConnection: close\r\n\r\n`)
        assert.strictEqual(answer.slice(9, 12), String(status), answer)
        if (status === 400) assert.include(answer, '"parameter":"host"')
      })
    )
  }
})
