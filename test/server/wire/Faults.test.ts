import { NodeHttpServer } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { routerConfig, RoutesLayer } from "../../../src/App.ts"
import { RowTooLarge, Unavailable, VersionNotFound } from "../../../src/domain/Problem.ts"
import { makeNodeServer } from "../../../src/server/doors/NodeServer.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { Tables } from "../../../src/server/tables/Tables.ts"
import { BaseUrl, newAccount, servicesLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, raw, wire, type ProblemBody } from "./Wire.ts"

const inside = 'relation "rows" does not exist SQLSTATE 42P01 at /srv/secret.ts:1'

const broken = Effect.sync(() => {
  throw new Error(inside)
})

class Logs extends Context.Service<Logs, { readonly lines: Effect.Effect<string> }>()(
  "agent-memory/test/server/wire/Faults/Logs"
) {}

const LogsLayer = Layer.unwrap(
  Effect.sync(() => {
    const lines: Array<string> = []
    const logger = Logger.map(Logger.formatJson, (line) => void lines.push(line))
    return Layer.merge(Logger.layer([logger]), Layer.succeed(Logs, { lines: Effect.sync(() => lines.join("\n")) }))
  })
)

const tooLarge = new RowTooLarge({
  detail: "The row has 9 bytes of JSON; at most 8 are allowed.",
  limit: 8,
  current: 9
})

const undeclared = new VersionNotFound({ detail: "It is no longer kept." })

/** Writes to the table `t` break. Those to `declared` and `undeclared` fail as their operations declare, or do not. */
const brokenWrites = Writes.of({
  write: (_actor, { table }) => {
    if (table === "declared") return Effect.fail(tooLarge) as Effect.Effect<never, never>
    return table === "undeclared" ? (Effect.fail(undeclared) as Effect.Effect<never, never>) : broken
  },
  batch: () => broken,
  import: () => broken,
  undo: () => broken
})

/** The service with parts that fail in every way they should not. */
const BrokenServices = Layer.mergeAll(
  Layer.succeed(
    Rows,
    Rows.of({
      query: () => broken,
      select: () => broken,
      ids: () => broken,
      matched: () => broken,
      summary: () => broken,
      every: () => broken,
      filled: () => broken,
      overview: () => broken,
      notes: {
        ofFields: () => broken,
        ofList: () => broken,
        ofNothing: () => broken,
        ofPage: () => broken,
        ofWrite: () => broken,
        ofBatch: () => broken
      },
      find: () => broken,
      count: () => Effect.die({ sql: inside })
    })
  ),
  Layer.effect(
    Tables,
    Effect.map(Tables, (tables) => ({ ...tables, list: () => broken, exportAll: () => broken }))
  ),
  Layer.succeed(Writes, brokenWrites),
  Layer.effect(
    SignInLinks,
    Effect.map(SignInLinks, (links) => ({
      ...links,
      find: () => Effect.fail(new Unavailable({ detail: "The database is away." }))
    }))
  ),
  Layer.effect(
    Keys,
    Effect.map(Keys, (keys) => ({
      ...keys,
      list: () => Effect.fail(new Unavailable({ detail: "The database is away." }))
    }))
  )
)

const FaultyService = HttpRouter.serve(RoutesLayer.pipe(Layer.provide(BrokenServices)), {
  disableLogger: true,
  disableListenLog: true,
  routerConfig
}).pipe(
  Layer.provideMerge(
    Layer.effect(
      BaseUrl,
      HttpServer.addressFormattedWith((url) => Effect.succeed({ url }))
    )
  ),
  Layer.provide(NodeHttpServer.layer(() => makeNodeServer([]), { host: "127.0.0.1", port: 0 })),
  Layer.provideMerge(LogsLayer),
  Layer.provideMerge(servicesLayer())
)

layer(FaultyService)("A fault of the service", (it) => {
  const requests: ReadonlyArray<readonly [method: string, path: string, body?: string]> = [
    ["GET", "/v1/t"],
    ["GET", "/v1/t/count"],
    ["GET", "/v1/_tables"],
    ["POST", "/v1/t", "{}"],
    ["DELETE", "/v1/t", '{"filter":{"a":1}}'],
    ["POST", "/v1/t/upsert", '{"key":"a","row":{"a":1}}'],
    ["POST", "/v1/t/batch", '{"operations":[{"action":"add","row":{}}]}'],
    ["POST", "/v1/t/update_row", '{"id":"x","patch":{}}'],
    ["POST", "/v1/t/update_where", '{"filter":{"a":1},"patch":{}}'],
    ["POST", "/v1/t/restore", '{"id":"x","version":1}']
  ]
  for (const [method, path, body] of requests) {
    it.effect(
      `P21 in ${method} ${path} is a 500 that says nothing of the inside; the log has it by the request's id`,
      () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          const answer = yield* wire(method, path, { key, body })
          const problem = assertProblem(answer, 500, "internal_error")
          assert.sameMembers(Object.keys(problem), ["type", "title", "status", "detail", "code", "hint", "request_id"])
          assert.notMatch(answer.text + JSON.stringify(answer.headers), /relation|42P01|secret|Error:|\.ts/)
          assert.match(String(answer.headers["ratelimit"]), /^"(read|write)s";r=/)
          const lines = yield* Effect.flatMap(Logs, ({ lines }) => lines)
          const line = lines.split("\n").find((line) => line.includes(problem.request_id))
          assert.include(line, "42P01")
          assert.notInclude(lines, key)
        })
    )
  }

  it.effect("in the middle of an export ends the connection instead of the document", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const head = `GET /v1/_export HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`
      const answer = yield* raw(head)
      assert.notInclude(answer, "42P01")
      assert.isFalse(answer.endsWith("0\r\n\r\n"), answer)
    })
  )

  it.effect("that passes is a page for whoever opens a sign-in link, with a way to try again", () =>
    Effect.gen(function* () {
      const token = "a".repeat(43)
      const answer = yield* wire("GET", `/sign-in?token=${token}`)
      assert.strictEqual(answer.status, 503)
      assert.strictEqual(answer.headers["retry-after"], "1")
      assert.include(answer.headers["content-type"], "text/html")
      assert.include(answer.text, `value="${token}"`)
    })
  )

  it.effect("that passes is a 503 with Retry-After", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const answer = yield* wire("GET", "/v1/_keys", { key })
      assertProblem(answer, 503, "unavailable")
      assert.match(answer.headers["retry-after"] ?? "", /^[1-9]\d*$/)
    })
  )

  it.effect("leaves the next request untouched, on the same connection too", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const get = (path: string, connection: string) =>
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: ${connection}\r\nAuthorization: Bearer ${key}\r\n\r\n`
      const answers = yield* raw(get("/v1/t", "keep-alive") + get("/health", "close"))
      assert.deepStrictEqual(answers.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 500", "HTTP/1.1 200"])
    })
  )
})

layer(FaultyService)("A failure", (it) => {
  const writes: ReadonlyArray<readonly [operation: string, body: string, status: number]> = [
    ["", "{}", 413],
    ["/upsert", '{"key":"a","row":{"a":1}}', 400],
    ["/update_row", '{"id":"x","patch":{}}', 400]
  ]
  for (const [operation, body, status] of writes) {
    it.effect(`is answered by POST /v1/{table}${operation} with the status that it declares for it, ${status}`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const problem = assertProblem(
          yield* wire("POST", `/v1/declared${operation}`, { key, body }),
          status,
          "row_too_large"
        )
        assert.strictEqual(problem.status, status)
      })
    )
  }

  it.effect("that the operation does not declare is a fault, which the log has by the request's id", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const answer = yield* wire("POST", "/v1/undeclared", { key, body: "{}" })
      const problem = assertProblem(answer, 500, "internal_error")
      const lines = yield* Effect.flatMap(Logs, ({ lines }) => lines)
      assert.include(
        lines.split("\n").find((line) => line.includes(problem.request_id)),
        undeclared.detail
      )
    })
  )
})

layer(FaultyService)("Every answer", (it) => {
  const paths = ["/v1/t", "/v1/_keys", "/health", "/ready", "/openapi.json", "/unknown", "/v1/_tables", "/auth/verify"]
  for (const path of paths) {
    it.effect(`of ${path} has an id of its own, whatever the client sends as one, and is not sniffed`, () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        const ids = new Set<unknown>()
        for (const method of ["GET", "POST", "OPTIONS", "TRACE"]) {
          for (const key of [undefined, apiKey]) {
            const answer = yield* wire(method, path, { key, headers: { "x-request-id": "mine" } })
            ids.add(answer.headers["x-request-id"])
            assert.strictEqual(answer.headers["x-content-type-options"], "nosniff")
            assert.isUndefined(answer.headers["location"])
            assert.isUndefined(answer.headers["x-powered-by"])
            if (answer.status >= 400) assertProblem(answer, answer.status, jsonOf<ProblemBody>(answer).code)
          }
        }
        assert.strictEqual(ids.size, 8)
        for (const id of ids) assert.match(String(id), /^[0-9a-f-]{36}$/)
      })
    )
  }
})
