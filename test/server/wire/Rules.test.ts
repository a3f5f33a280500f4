import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, wire, type ProblemBody } from "./Wire.ts"

type Row = Record<string, unknown> & { readonly id: string; readonly created_at: string; readonly updated_at: string }

const post = (key: string, operation: string, body: unknown) =>
  wire("POST", `/v1/t${operation}`, { key, body: JSON.stringify(body) })

const add = (key: string, row: Record<string, unknown>) =>
  Effect.map(post(key, "", row), (answer) => jsonOf<Row>(answer))

const rowsOf = (key: string) =>
  Effect.map(wire("GET", "/v1/t", { key }), (answer) => jsonOf<{ rows: Array<Row> }>(answer).rows)

const systemFields = ["id", "created_at", "updated_at"] as const

layer(serviceLayer())("The rules of rows:", (it) => {
  for (const field of systemFields) {
    it.effect(`add refuses ${field}, whatever its value and spelling`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        for (const value of ['"x"', "null", "1", "{}"]) {
          const body = `{"a":1,"${field}":${value}}`
          const problem = assertProblem(yield* wire("POST", "/v1/t", { key, body }), 400, "reserved_field")
          assert.deepStrictEqual(pathsOf(problem), [`/${field}`])
          assert.include(problem.hint, "external_id")
        }
        const escaped = `{"\\u00${field.charCodeAt(0).toString(16)}${field.slice(1)}":1}`
        assertProblem(yield* wire("POST", "/v1/t", { key, body: escaped }), 400, "reserved_field")
        assert.strictEqual((yield* add(key, { a: { [field]: 1 }, [field.toUpperCase()]: 2 }))[field.toUpperCase()], 2)
      })
    )

    it.effect(`upsert and patches take ${field} only as the stored row has it`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const row = yield* add(key, { k: 1 })
        const changes = (value: unknown): ReadonlyArray<readonly [string, unknown, string]> => [
          ["/upsert", { key: "k", row: { k: 1, [field]: value } }, `/row/${field}`],
          ["/update_row", { id: row.id, patch: { a: 1, [field]: value } }, `/patch/${field}`],
          ["/update_where", { filter: { k: 1 }, patch: { a: 1, [field]: value } }, `/patch/${field}`]
        ]
        for (const other of ["other", null, 1, row[field].toUpperCase().replace("Z", "+00:00"), {}]) {
          if (other === row[field]) continue
          for (const [operation, body, path] of changes(other)) {
            const problem = assertProblem(yield* post(key, operation, body), 400, "reserved_field")
            assert.deepStrictEqual(pathsOf(problem), [path])
          }
        }
        assert.deepStrictEqual(yield* rowsOf(key), [row])
        for (const [operation] of changes(0)) {
          const [current] = yield* rowsOf(key)
          const [, body] = changes(current![field]).find(([name]) => name === operation)!
          assert.strictEqual((yield* post(key, operation, body)).status, 200)
        }
        const fresh = { key: "k", row: { k: 2, [field]: row[field] } }
        assertProblem(yield* post(key, "/upsert", fresh), 400, "reserved_field")
      })
    )
  }

  it.effect("a patch of several rows may not hold the id of one of them", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const rows = [yield* add(key, { k: 1 }), yield* add(key, { k: 1 })]
      const patch = { a: 1, id: rows[0]!.id }
      const answer = yield* post(key, "/update_where", { filter: { k: 1 }, patch, allowMultiple: true })
      assert.deepStrictEqual(pathsOf(assertProblem(answer, 400, "reserved_field")), ["/patch/id"])
      assert.deepStrictEqual(yield* rowsOf(key), rows)
    })
  )

  it.effect("a row that was read can be sent back, whole", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const row = yield* add(key, { k: 1, b: 2 })
      const replaced = jsonOf<{ row: Row }>(yield* post(key, "/upsert", { key: "k", row: { ...row, b: 3 } })).row
      assert.deepStrictEqual({ ...replaced, updated_at: "" }, { ...row, b: 3, updated_at: "" })
      const patched = yield* post(key, "/update_row", { id: row.id, patch: { ...replaced, c: 1 } })
      assert.strictEqual(patched.status, 200)
    })
  )

  it.effect("a patch sets top-level fields, keeps the others in their place, and stores null", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = yield* add(key, { a: 1, b: { x: 1, y: 2 }, c: 3 })
      const patched = yield* post(key, "/update_row", { id, patch: { d: 4, b: { z: 1 }, a: null } })
      assert.isTrue(patched.text.endsWith('"a":null,"b":{"z":1},"c":3,"d":4}}'), patched.text)
      const same = yield* post(key, "/update_row", { id, patch: {} })
      assert.isTrue(same.text.endsWith('"a":null,"b":{"z":1},"c":3,"d":4}}'), same.text)
    })
  )

  it.effect("updated_at strictly grows with every change", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const row = yield* add(key, { a: 1 })
      const times = [row.updated_at]
      for (let n = 0; n < 5; n++) {
        const operations = [{ action: "update_row", id: row.id, patch: { n } }]
        operations.push({ action: "update_row", id: row.id, patch: { n: -n } })
        yield* post(key, "/batch", { operations })
        times.push((yield* rowsOf(key))[0]!.updated_at)
      }
      assert.deepStrictEqual(times, [...new Set(times)].toSorted())
    })
  )

  it.effect("update_where changes one row, or all of several when it is allowed to", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const n of [1, 2, 3]) yield* add(key, { n, k: "x" })
      const update = (body: object) => post(key, "/update_where", { patch: { seen: true }, ...body })
      assertProblem(yield* update({ filter: { n: 9 } }), 404, "row_not_found")
      assertProblem(yield* update({ filter: { n: 9 }, allowMultiple: false }), 404, "row_not_found")
      const several = yield* update({ filter: { k: "x" } })
      assertProblem(several, 409, "multiple_matches")
      assert.strictEqual(jsonOf(several)["matches"], 3)
      assert.strictEqual((yield* update({ filter: { n: 9 }, allowMultiple: true })).text, '{"updated":0,"rows":[]}')
      for (const allowMultiple of [true, false]) {
        assertProblem(yield* update({ filter: {}, allowMultiple }), 400, "filter_required")
      }
      assert.strictEqual(jsonOf(yield* update({ filter: { n: 2 } }))["updated"], 1)
      const all = jsonOf<{ rows: Array<Row>; updated: number }>(
        yield* update({ filter: { k: "x" }, allowMultiple: true })
      )
      assert.strictEqual(all.updated, 3)
      assert.deepStrictEqual(all.rows, yield* rowsOf(key))
    })
  )

  it.effect("an upsert finds its row by type and value, and by all of several fields in any order", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const upsert = (names: unknown, row: string) =>
        Effect.map(
          wire("POST", "/v1/t/upsert", { key, body: `{"key":${JSON.stringify(names)},"row":${row}}` }),
          (answer) => jsonOf<{ created?: boolean; code?: string }>(answer)
        )
      const cases: ReadonlyArray<readonly [unknown, string, boolean]> = [
        ["a", '{"a":1}', true],
        ["a", '{"a":1.0}', false],
        ["a", '{"a":"1"}', true],
        ["a", '{"a":true}', true],
        ["a", '{"a":false}', true],
        ["a", '{"a":""}', true],
        [["a"], String.raw`{"a":"\u0000"}`, true],
        [["a", "b"], '{"a":1,"b":2}', true],
        [["b", "a"], '{"b":2,"a":1,"c":3}', false],
        ["", '{"":1}', true],
        ["", '{"":1}', false],
        ["__proto__", '{"__proto__":1}', true],
        ["__proto__", '{"__proto__":1}', false]
      ]
      for (const [names, row, created] of cases) {
        assert.strictEqual((yield* upsert(names, row)).created, created, `${JSON.stringify(names)} ${row}`)
      }
    })
  )

  it.effect("an upsert refuses key fields that are missing, no scalar, null or the service's own", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const stored = yield* add(key, { a: 1 })
      const bad: ReadonlyArray<readonly [unknown, Record<string, unknown>]> = [
        ["b", { a: 1 }],
        [["a", "b"], { a: 1 }],
        ["a", { a: null }],
        ["a", { a: [1] }],
        ["a", { a: {} }],
        ["toString", { a: 1 }],
        ["id", { a: 1, id: stored.id }],
        [["a", "updated_at"], { a: 1, updated_at: stored.updated_at }],
        [[], { a: 1 }],
        [[1], { a: 1 }],
        [null, { a: 1 }],
        [{}, { a: 1 }]
      ]
      for (const [names, row] of bad) {
        const problem = assertProblem(yield* post(key, "/upsert", { key: names, row }), 400, "invalid_request")
        assert.match(pathsOf(problem)[0] ?? "", /^\/(key|row)/)
      }
      yield* add(key, { a: 1 })
      const ambiguous = yield* post(key, "/upsert", { key: "a", row: { a: 1 } })
      assertProblem(ambiguous, 400, "ambiguous_key")
      assert.strictEqual(jsonOf(ambiguous)["matches"], 2)
    })
  )

  it.effect("an upsert names up to 32 fields, each of them once", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const names = Array.from({ length: 33 }, (_, n) => `f${n}`)
      const row = Object.fromEntries(names.map((name) => [name, 1]))
      const upsert = (named: ReadonlyArray<string>) => post(key, "/upsert", { key: named, row })
      assert.strictEqual((yield* upsert(names.slice(1))).status, 200)
      const places: ReadonlyArray<readonly [names: ReadonlyArray<string>, place: string]> = [
        [names, "/key"],
        [["f1", "f1"], "/key/1"],
        [["f1", "f2", "f1"], "/key/2"]
      ]
      for (const [wrong, place] of places) {
        assert.deepStrictEqual(pathsOf(assertProblem(yield* upsert(wrong), 400, "invalid_request")), [place])
      }
    })
  )

  const ids = ["x", "", "null", "00000000-0000-7000-8000-000000000000", "'; --", "\u0000", "é", "x".repeat(3000)]
  for (const id of ids) {
    it.effect(`an id may be any text: ${JSON.stringify(id.slice(0, 40))} is simply not there`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        yield* add(key, { a: 1 })
        assertProblem(yield* post(key, "/update_row", { id, patch: { a: 2 } }), 404, "row_not_found")
        assertProblem(yield* post(key, "/restore", { id, version: 1 }), 404, "version_not_found")
        const versions = yield* wire("GET", `/v1/t/versions?id=${encodeURIComponent(id)}`, { key })
        assert.deepStrictEqual([versions.status, versions.text], [200, '{"versions":[]}'])
      })
    )
  }

  it.effect("a row of another table or account is not there", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { apiKey: other } = yield* newAccount
      const { id } = yield* add(key, { a: 1 })
      yield* post(key, "/update_row", { id, patch: { a: 2 } })
      const patch = JSON.stringify({ id, patch: { a: 3 } })
      const restore = JSON.stringify({ id, version: 1 })
      for (const [owner, table] of [
        [key, "u"],
        [other, "t"]
      ] as const) {
        const bodyOf = (path: string, body: string) => wire("POST", `/v1/${table}${path}`, { key: owner, body })
        assertProblem(yield* bodyOf("/update_row", patch), 404, "row_not_found")
        assertProblem(yield* bodyOf("/restore", restore), 404, "version_not_found")
        assert.strictEqual(
          (yield* wire("GET", `/v1/${table}/versions?id=${id}`, { key: owner })).text,
          '{"versions":[]}'
        )
      }
      const [row] = yield* rowsOf(key)
      assert.strictEqual(row!["a"], 2)
    })
  )

  it.effect("a large version number is not there rather than invalid", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = yield* add(key, { a: 1 })
      for (const version of ["2", "2147483648", "9007199254740991", "1e3"]) {
        const body = `{"id":"${id}","version":${version}}`
        assertProblem(yield* wire("POST", "/v1/t/restore", { key, body }), 404, "version_not_found")
      }
      for (const version of ["9007199254740993", "1e400", "-1"]) {
        const body = `{"id":"${id}","version":${version}}`
        const { status } = jsonOf<ProblemBody>(yield* wire("POST", "/v1/t/restore", { key, body }))
        assert.oneOf(status, [400, 404])
      }
    })
  )
})
