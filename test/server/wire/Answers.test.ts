import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { localHeaders, newAccount, serviceLayer } from "../../support/TestService.ts"
import { jsonOf, wire, type WireAnswer } from "./Wire.ts"

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

interface Row extends Record<string, unknown> {
  readonly id: string
  readonly created_at: string
  readonly updated_at: string
}

const assertRow = (row: Row, own: Record<string, unknown>): void => {
  const { created_at, id, updated_at, ...rest } = row
  assert.deepStrictEqual(Object.keys(row).slice(0, 3), ["id", "created_at", "updated_at"])
  assert.match(id, uuid7)
  assert.match(created_at, time)
  assert.match(updated_at, time)
  assert.isTrue(updated_at >= created_at)
  assert.deepStrictEqual(rest, own)
}

const bodyOf = <A>(answer: WireAnswer, status: number, members: ReadonlyArray<string>): A => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.deepStrictEqual(Object.keys(jsonOf(answer)), members)
  return jsonOf<A>(answer)
}

const add = (key: string, table: string, body: string) =>
  Effect.map(wire("POST", `/v1/${table}`, { key, body }), (answer) => {
    assert.strictEqual(answer.status, 201, answer.text)
    return jsonOf<Row>(answer)
  })

layer(serviceLayer())("The answers", (it) => {
  it.effect("sign in with a link that the local service shows, whose token gives a key that works, once", () =>
    Effect.gen(function* () {
      const asked = yield* wire("POST", "/auth/magic-link", {
        body: '{"email":"Ada@Example.com "}',
        headers: yield* localHeaders
      })
      const sent = bodyOf<Record<string, string>>(asked, 200, ["ok", "expires_at", "dev_magic_link"])
      assert.strictEqual(sent["ok"] as unknown, true)
      assert.match(sent["expires_at"]!, time)
      const link = new URL(sent["dev_magic_link"]!)
      assert.strictEqual(link.origin + link.pathname, "http://localhost:3000/sign-in")
      const body = JSON.stringify({ token: link.searchParams.get("token") })
      const verified = yield* wire("POST", "/auth/verify", { body })
      const { account_id, api_key: key } = bodyOf<{ api_key: string; account_id: string }>(verified, 200, [
        "api_key",
        "account_id"
      ])
      assert.match(account_id, /^[a-z2-7]{20}$/)
      assert.match(key, new RegExp(`^svc_live_${account_id}_[0-9A-Za-z]{43}$`))
      assert.strictEqual((yield* wire("GET", "/v1/_tables", { key })).text, '{"tables":[]}')
      assert.strictEqual((yield* wire("POST", "/auth/verify", { body })).status, 401)
    })
  )

  it.effect("add gives the row itself, and query, count, export and the table list show it", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const added = yield* wire("POST", "/v1/notes", { key, body: '{"a":1}' })
      const row = bodyOf<Row>(added, 201, ["id", "created_at", "updated_at", "a"])
      assertRow(row, { a: 1 })
      assert.strictEqual(row.created_at, row.updated_at)
      const answers = {
        "/v1/notes": `{"rows":[${added.text}],"has_more":false}`,
        "/v1/notes/count": '{"count":1}',
        "/v1/_export": `{"tables":{"notes":[${added.text}]}}`,
        "/v1/_tables": '{"tables":[{"name":"notes","rows":1}]}'
      }
      for (const [path, text] of Object.entries(answers)) {
        const answer = yield* wire("GET", path, { key })
        assert.strictEqual(answer.text, text)
        assert.strictEqual(answer.headers["content-type"], "application/json")
        assert.strictEqual(answer.headers["cache-control"], "no-store")
      }
    })
  )

  it.effect("an account without rows has an empty export", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      assert.strictEqual((yield* wire("GET", "/v1/_export", { key })).text, '{"tables":{}}')
    })
  )

  it.effect("upsert says whether it created, and keeps id and created_at of what it replaces", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const upsert = (body: string) => wire("POST", "/v1/notes/upsert", { key, body })
      const first = bodyOf<{ created: boolean; row: Row }>(yield* upsert('{"key":"k","row":{"k":"x","gone":1}}'), 200, [
        "created",
        "row"
      ])
      const second = bodyOf<typeof first>(yield* upsert('{"key":["k"],"row":{"k":"x"}}'), 200, ["created", "row"])
      assert.deepStrictEqual([first.created, second.created], [true, false])
      assertRow(second.row, { k: "x" })
      assert.strictEqual(second.row.id, first.row.id)
      assert.strictEqual(second.row.created_at, first.row.created_at)
      assert.isTrue(second.row.updated_at > first.row.updated_at)
    })
  )

  it.effect("updates give the rows as they are now; a delete tells how many are gone", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = yield* add(key, "notes", '{"a":1,"b":2}')
      const post = (operation: string, body: unknown) =>
        wire("POST", `/v1/notes/${operation}`, { key, body: JSON.stringify(body) })
      const updated = yield* post("update_row", { id, patch: { b: null, c: [1] } })
      assertRow(bodyOf<{ row: Row }>(updated, 200, ["row"]).row, { a: 1, b: null, c: [1] })
      const matching = yield* post("update_where", { filter: { a: 1 }, patch: { a: 2 } })
      const { rows, updated: count } = bodyOf<{ updated: number; rows: Array<Row> }>(matching, 200, ["updated", "rows"])
      assert.strictEqual(count, 1)
      assertRow(rows[0]!, { a: 2, b: null, c: [1] })
      const deleted = yield* wire("DELETE", "/v1/notes", { key, body: '{"filter":{"a":2}}' })
      assert.include(deleted.text, '{"deleted":1,')
    })
  )

  it.effect("versions lists what was, newest first, and restore brings it back with a new updated_at", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const first = yield* add(key, "notes", '{"a":1}')
      yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${first.id}","patch":{"a":2}}` })
      yield* wire("DELETE", "/v1/notes", { key, body: `{"filter":{"id":"${first.id}"}}` })
      const listed = yield* wire("GET", `/v1/notes/versions?id=${first.id}`, { key })
      const { versions } = bodyOf<{ versions: Array<Record<string, unknown>> }>(listed, 200, ["versions"])
      const members = [
        "version",
        "id",
        "table",
        "operation",
        "change",
        "changed_by",
        "archived_at",
        "expires_at",
        "row"
      ]
      for (const version of versions) assert.deepStrictEqual(Object.keys(version), members)
      assert.deepStrictEqual(
        versions.map(({ operation, table, version }) => [version, operation, table]),
        [
          [2, "delete", "notes"],
          [1, "update", "notes"]
        ]
      )
      assert.deepStrictEqual(versions[1]!["row"], { ...first })
      const by = versions[0]!["changed_by"] as Record<string, string>
      assert.deepStrictEqual([Object.keys(by), by["kind"], by["name"]], [["kind", "id", "name"], "key", "test"])
      const restored = yield* wire("POST", "/v1/notes/restore", { key, body: `{"id":"${first.id}","version":1}` })
      const { row } = bodyOf<{ row: Row }>(restored, 200, ["row"])
      assertRow(row, { a: 1 })
      assert.deepStrictEqual([row.id, row.created_at], [first.id, first.created_at])
      assert.isTrue(row.updated_at > first.updated_at)
    })
  )

  it.effect("keys are shown once, listed without their secret and revoked by id", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const record = [
        "id",
        "account_id",
        "name",
        "prefix",
        "scope",
        "revoked_at",
        "created_at",
        "last_used_at"
      ] as const
      const created = yield* wire("POST", "/v1/_keys", { key, body: '{"name":"ci"}' })
      const made = bodyOf<Record<(typeof record)[number] | "api_key", string | null>>(created, 201, [
        ...record,
        "api_key"
      ])
      assert.deepInclude(made, { account_id: accountId, name: "ci", scope: "*", revoked_at: null, last_used_at: null })
      assert.strictEqual(made.api_key!.slice(0, `svc_live_${accountId}_`.length + 4), made.prefix)
      const listed = yield* wire("GET", "/v1/_keys", { key })
      const { keys } = bodyOf<{ keys: Array<Record<string, unknown>> }>(listed, 200, ["keys"])
      assert.strictEqual(keys.length, 2)
      for (const one of keys) assert.sameMembers(Object.keys(one), [...record])
      assert.notInclude(listed.text, made.api_key!)
      assert.strictEqual((yield* wire("DELETE", `/v1/_keys/${made.id}`, { key })).text, '{"revoked":1}')
      assert.strictEqual((yield* wire("DELETE", `/v1/_keys/${made.id}`, { key })).text, '{"revoked":0}')
      assert.strictEqual((yield* wire("GET", "/v1/_keys", { key: made.api_key! })).status, 401)
    })
  )
})
