import { assert, layer } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { callTool, newConnection } from "../../support/Mcp.ts"
import { within } from "../../support/OwnTime.ts"
import { head, opened, openUnread } from "../../support/RawConnections.ts"
import { bodyOf, request, serviceLayer, type BaseUrl } from "../../support/TestService.ts"

/** How long another account's request may take, in milliseconds. */
const soon = within(1000)

const longText = "x".repeat(60_000)
const batchOf = (rows: number) =>
  JSON.stringify({ operations: Array.from({ length: rows }, () => ({ action: "add", row: { text: longText } })) })

/** An account that takes all it can get, with a table of some megabytes, a connection, and links to all of its rows. */
const greedyAccount = Effect.gen(function* () {
  const { apiKey: key, token } = yield* newConnection()
  assert.strictEqual((yield* request("POST", "/v1/big/batch", { key, body: batchOf(100) })).status, 200)
  const body = '{"table":"big","limit":1000}'
  const link = bodyOf<{ viewer_url: string; download_url: string }>(
    yield* request("POST", "/v1/_query_links", { key, body })
  )
  return { key, token, page: new URL(link.viewer_url).pathname, file: new URL(link.download_url).pathname }
})

type Greedy = Effect.Success<typeof greedyAccount>

/** An account that only wants its usual things, each of which must be answered soon. */
const modestAccount = Effect.gen(function* () {
  const { apiKey: key, token } = yield* newConnection()
  assert.strictEqual((yield* request("POST", "/v1/notes/batch", { key, body: batchOf(10) })).status, 200)
  const answered = Effect.fnUntraced(function* (status: number, ...sent: Parameters<typeof request>) {
    const answer = yield* soon(request(...sent))
    assert.strictEqual(answer.status, status, answer.text.slice(0, 500))
  })
  return Effect.gen(function* () {
    yield* answered(201, "POST", "/v1/notes", { key, body: '{"n":1}' })
    yield* answered(200, "GET", "/v1/notes?limit=5", { key })
    assert.isUndefined((yield* soon(callTool(token, "query", { table: "notes", limit: 1 }))).isError)
    yield* answered(200, "GET", "/v1/_export", { key })
    yield* answered(200, "POST", "/v1/notes/batch", { key, body: batchOf(1).padEnd(4_000_000) })
  })
})

const times = <A, E, R>(count: number, effect: Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: count }), () => effect, { concurrency: "unbounded" })

const post = (path: string, bytes: number, credential: string, type = "application/json") =>
  head("POST", path, {
    Authorization: `Bearer ${credential}`,
    Accept: "application/json, text/event-stream",
    "Content-Type": type,
    "Content-Length": String(bytes)
  })

const form = "application/x-www-form-urlencoded"

/** What an account does to others: it comes back once all of it is under way, which goes on until the scope closes. */
const loads: Record<string, (greedy: Greedy) => Effect.Effect<unknown, unknown, BaseUrl | Scope.Scope>> = {
  "readers of downloads, link pages, queries and exports that stop": ({ file, key, page }) =>
    Effect.forEach(
      ["/v1/_export", "/v1/big?limit=1000"].map((path) => times(4, openUnread(path, key))),
      (opening) => opening
    ).pipe(Effect.andThen(Effect.forEach([file, page, `${page}/download`], (path) => times(4, openUnread(path))))),
  "uploads of batches, imports, tool calls, sign-ins and forms that stop": ({ key, token }) =>
    Effect.forEach(
      [
        post("/v1/big/batch", 8_000_000, key) + " ".repeat(1_000_000),
        post("/v1/_import", 30_000_000, key) + " ".repeat(1_000_000),
        post("/mcp", 8_000_000, token) + " ".repeat(1_000_000),
        post("/auth/magic-link", 1000, "none") + "{",
        post("/token", 1000, "none", form) + "a=",
        post("/sign-in", 1000, "none", form) + "token="
      ],
      (sent) => times(10, opened(sent))
    ),
  "links that are read all the time": ({ file, page }) =>
    Effect.forEach([file, `${page}/download`], (path) => Effect.forkScoped(Effect.forever(request("GET", path)))),
  "exports and imports without a pause": ({ key }) =>
    Effect.forEach(
      [
        request("GET", "/v1/_export", { key }),
        request("POST", "/v1/_import?dry_run=true", { key, body: '{"tables":{}}'.padEnd(4_000_000) })
      ],
      (sent) => Effect.forkScoped(Effect.forever(sent))
    )
}

layer(serviceLayer(), { excludeTestServices: true })("P44 Another account is answered within a second beside", (it) => {
  for (const [name, load] of Object.entries(loads)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const usual = yield* modestAccount
        yield* Effect.forEach([1, 2, 3], () => Effect.flatMap(greedyAccount, load))
        yield* usual
      })
    )
  }
})
