import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { done, newConnection, refused } from "../../support/Mcp.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"

interface Version {
  readonly operation: string
  readonly changed_by: { readonly kind: string; readonly id: string; readonly name: string }
}

interface Connection {
  readonly id: string
  readonly client_name: string
}

const connectionOf = Effect.fnUntraced(function* (key: string) {
  const answer = yield* request("GET", "/v1/_connections", { key })
  return bodyOf<{ connections: ReadonlyArray<Connection> }>(answer).connections.at(-1)!
})

const versionsOf = (token: string, id: string) =>
  Effect.map(done(token, "versions", { table: "t", id }), ({ versions }) => versions as ReadonlyArray<Version>)

const pathOf = (url: unknown): string => new URL(url as string).pathname

const withRow = Effect.gen(function* () {
  const person = yield* newConnection()
  const { row } = yield* done(person.token, "add", { table: "t", row: { k: 1, text: "one" } })
  const stored = row as { id: string; updated_at: string }
  return { ...person, ...stored, connection: yield* connectionOf(person.apiKey) }
})

layer(serviceLayer(), { excludeTestServices: true })("Changes over MCP", (it) => {
  it.effect("restore no version that is too great for any, as over REST", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const { row } = yield* done(token, "add", { table: "t", row: {} })
      const { id } = row as { id: string }
      for (const version of [9_007_199_254_740_991, 9_007_199_254_740_992, 1e300]) {
        const problem = yield* refused(token, "restore", { table: "t", id, version })
        assert.strictEqual(problem["code"], "version_not_found", String(version))
      }
    })
  )

  it.effect("say in the versions which client made them, whatever tool it used", () =>
    Effect.gen(function* () {
      const { apiKey, connection, id, token } = yield* withRow
      const table = "t"
      yield* done(token, "update_row", { table, id, patch: { n: 1 } })
      yield* done(token, "update_where", { table, filter: { id }, patch: { n: 2 } })
      yield* done(token, "upsert", { table, key: ["k"], row: { k: 1, n: 3 } })
      yield* done(token, "batch", { table, operations: [{ action: "update_row", id, patch: { n: 4 } }] })
      yield* done(token, "restore", { table, id, version: 1 })
      yield* request("POST", "/v1/t/update_row", { key: apiKey, body: JSON.stringify({ id, patch: { n: 5 } }) })
      yield* done(token, "delete", { table, filter: { id } })
      const versions = yield* versionsOf(token, id)
      assert.deepStrictEqual(
        versions.map(({ changed_by, operation }) => [operation, changed_by.kind]),
        [
          ["delete", "mcp"],
          ["update", "key"],
          ["restore", "mcp"],
          ["update", "mcp"],
          ["update", "mcp"],
          ["update", "mcp"],
          ["update", "mcp"]
        ]
      )
      const expected = { kind: "mcp", id: connection.id, name: connection.client_name }
      for (const { changed_by } of versions) {
        if (changed_by.kind === "mcp") assert.deepStrictEqual(changed_by, expected)
      }
      const rest = yield* request("GET", `/v1/t/versions?id=${id}`, { key: apiKey })
      assert.deepStrictEqual(bodyOf<{ versions: ReadonlyArray<Version> }>(rest).versions, versions)
    })
  )

  it.effect("are told from rows that have none yet, and from ids that nothing has", () =>
    Effect.gen(function* () {
      const { id, token } = yield* withRow
      const noteOf = (id: string) => Effect.map(done(token, "versions", { table: "t", id }), ({ note }) => note)
      assert.match(String(yield* noteOf(id)), /^The row was never changed/)
      assert.match(String(yield* noteOf("01a221b4-d15a-7628-98bd-39ae9eb6ea5a")), /^No row or version/)
      yield* done(token, "delete", { table: "t", filter: { id } })
      assert.isUndefined(yield* noteOf(id))
    })
  )

  it.effect("name the client that made a memory anew", () =>
    Effect.gen(function* () {
      const { connection, token } = yield* withRow
      const args = { type: "code", title: "a", key: ["title"], table: "t" }
      const { row } = yield* done(token, "remember", { ...args, content: "1" })
      yield* done(token, "remember", { ...args, content: "2" })
      const [version] = yield* versionsOf(token, (row as { id: string }).id)
      assert.deepStrictEqual(version?.changed_by, { kind: "mcp", id: connection.id, name: connection.client_name })
    })
  )

  it.effect("by a link of a connection say that a link made them", () =>
    Effect.gen(function* () {
      const { id, token, updated_at } = yield* withRow
      const link = yield* done(token, "open_row", { table: "t", id })
      const saved = yield* request("PATCH", pathOf(link["viewer_url"]), {
        body: JSON.stringify({ updated_at, patch: { text: "two" } })
      })
      assert.strictEqual(saved.status, 200, saved.text)
      const [version] = yield* versionsOf(token, id)
      assert.strictEqual(version?.changed_by.kind, "link")
      assert.isAbove(version?.changed_by.id.length ?? 0, 10)
      assert.isAbove(version?.changed_by.name.length ?? 0, 0)
    })
  )

  it.effect("and links of a connection end with it, those of others do not", () =>
    Effect.gen(function* () {
      const { apiKey, connection, id, token, updated_at } = yield* withRow
      const row = yield* done(token, "open_row", { table: "t", id })
      const text = yield* done(token, "open_text_field", { table: "t", id, field: "text" })
      const query = yield* done(token, "query", { table: "t", includeLink: true })
      const links = [row, text, query["_service_query_link"] as Record<string, unknown>]
      const paths = links.flatMap((link) => [pathOf(link["viewer_url"]), pathOf(link["download_url"])])
      const ofKey = yield* request("POST", "/v1/_row_links", { key: apiKey, body: JSON.stringify({ table: "t", id }) })
      for (const path of paths) assert.strictEqual((yield* request("GET", path)).status, 200, path)
      const ended = yield* request("DELETE", `/v1/_connections/${connection.id}`, { key: apiKey })
      assert.deepStrictEqual(bodyOf(ended), { revoked: 1 })
      for (const path of paths) assert.strictEqual((yield* request("GET", path)).status, 404, path)
      const saved = yield* request("PATCH", paths[0]!, { body: JSON.stringify({ updated_at, patch: { text: "two" } }) })
      assert.strictEqual(saved.status, 404)
      assert.strictEqual((yield* request("GET", pathOf(bodyOf(ofKey)["viewer_url"]))).status, 200)
      const kept = yield* request("GET", "/v1/t", { key: apiKey })
      assert.include(kept.text, '"text":"one"')
    })
  )
})
