import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { bodyOf, newAccount, request, serviceLayer, type Answer } from "../../support/TestService.ts"

const started = Effect.gen(function* () {
  const { apiKey: key } = yield* newAccount
  const send = (path: string, body: string, headers: Record<string, string> = {}) =>
    request("POST", `/v1/t${path}`, { key, body, headers })
  const add = (body: string) => Effect.map(send("", body), (answer) => bodyOf<{ id: string }>(answer).id)
  const edit = (id: string, edits: string, more = "") => send("/update_row", `{"id":"${id}",${more}"edits":${edits}}`)
  const rows = Effect.map(request("GET", "/v1/t", { key }), (answer) => ownOf(answer.text))
  return { key, send, add, edit, rows }
})

/** The own fields of the rows in a body, as text. */
const ownOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/"updated_at":"[^"]+",?(.*?)\}(?=,\{"id"|\]|\}$)/g)].map(([, own]) => own!)

const problemOf = (answer: Answer) =>
  bodyOf<{ code: string; detail: string; operation?: number; errors: ReadonlyArray<{ path: string }> }>(answer)

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "1000" }), { excludeTestServices: true })("Edits", (it) => {
  it.effect("P40 of 40 parallel increments all count", () =>
    Effect.gen(function* () {
      const { add, edit, rows } = yield* started
      const id = yield* add('{"n":0.5}')
      const one = () => edit(id, '[{"op":"increment","field":"n","by":1}]')
      const answers = yield* Effect.all(Array.from({ length: 40 }, one), { concurrency: "unbounded" })
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.deepStrictEqual(yield* rows, ['"n":40.5'])
    })
  )

  it.effect("follow the patch, and are archived with it as one version", () =>
    Effect.gen(function* () {
      const { add, edit, key, rows } = yield* started
      const id = yield* add('{"a":"x"}')
      const both = yield* edit(id, '[{"op":"append","field":"a","text":"!"}]', '"patch":{"a":"patched","b":1.0},')
      assert.strictEqual(both.status, 200, both.text)
      assert.deepStrictEqual(yield* rows, ['"a":"patched!","b":1.0'])
      const { versions } = bodyOf<{ versions: ReadonlyArray<object> }>(
        yield* request("GET", `/v1/t/versions?id=${id}`, { key })
      )
      assert.strictEqual(versions.length, 1)
    })
  )

  it.effect("change each row that matches from what it holds, or none of them, naming the row that can't be", () =>
    Effect.gen(function* () {
      const { add, rows, send } = yield* started
      yield* add('{"k":1,"n":1}')
      const second = yield* add('{"k":1,"n":2}')
      const update = () =>
        send(
          "/update_where",
          '{"filter":{"k":1},"allowMultiple":true,"edits":[{"op":"increment","field":"n","by":0.5}]}'
        )
      assert.include((yield* update()).text, '"updated":2')
      assert.deepStrictEqual(yield* rows, ['"k":1,"n":1.5', '"k":1,"n":2.5'])
      yield* send("/update_row", `{"id":"${second}","patch":{"n":"two"}}`)
      const refused = yield* update()
      assert.strictEqual(refused.status, 400)
      const { detail, errors } = problemOf(refused)
      assert.include(detail, `"n" of the row ${second} holds a string, not a number`)
      assert.deepStrictEqual(
        errors.map(({ path }) => path),
        ["/edits/0"]
      )
      assert.deepStrictEqual(yield* rows, ['"k":1,"n":1.5', '"k":1,"n":"two"'])
    })
  )

  it.effect("of a batch see those before them, and fail it as a whole, naming operation and edit", () =>
    Effect.gen(function* () {
      const { add, rows, send } = yield* started
      const id = yield* add('{"n":1}')
      const operation = (edits: string) => `{"action":"update_row","id":"${id}","edits":${edits}}`
      const [twice, wrong] = ['[{"op":"increment","field":"n","by":1}]', '[{"op":"push","field":"n","value":1}]']
      const done = yield* send("/batch", `{"operations":[${operation(twice)},${operation(twice)}]}`)
      assert.strictEqual(done.status, 200, done.text)
      const refused = problemOf(yield* send("/batch", `{"operations":[${operation(twice)},${operation(wrong)}]}`))
      assert.deepStrictEqual([refused.operation, refused.errors[0]?.path], [1, "/operations/1/edits/0"])
      assert.deepStrictEqual(yield* rows, ['"n":3'])
    })
  )

  it.effect("are refused where they are not what an op takes, with the place", () =>
    Effect.gen(function* () {
      const { add, edit, send } = yield* started
      const id = yield* add("{}")
      const refusals: ReadonlyArray<readonly [edits: string, path: string]> = [
        ['[{"op":"multiply","field":"n"}]', "/edits/0"],
        ['[{"op":"increment","field":"n","by":"1"}]', "/edits/0/by"],
        ['[{"op":"increment","field":"n"}]', "/edits/0/by"],
        ['[{"op":"append","field":"n","text":1}]', "/edits/0/text"],
        ['[{"op":"remove","field":"n","value":1}]', "/edits/0/value"],
        ['[{"op":"remove","field":"id"}]', "/edits/0/field"],
        ["[]", "/patch"],
        ["{}", "/edits"]
      ]
      for (const [edits, path] of refusals) {
        const refused = yield* edit(id, edits)
        assert.strictEqual(refused.status, 400, refused.text)
        assert.strictEqual(problemOf(refused).errors[0]?.path, path, refused.text)
      }
      assert.strictEqual(problemOf(yield* send("/update_row", `{"id":"${id}"}`)).errors[0]?.path, "/patch")
    })
  )

  it.effect("never make a row longer than rows may be", () =>
    Effect.gen(function* () {
      const { add, edit, rows, send } = yield* started
      const id = yield* add(`{"a":"${"x".repeat(65_000)}"}`)
      const append = `[{"op":"append","field":"a","text":"${"y".repeat(1000)}"}]`
      const refused = [
        yield* edit(id, append),
        yield* send("/update_where", `{"filter":{"id":"${id}"},"edits":${append}}`),
        yield* edit(id, `[{"op":"push","field":"b","value":"${"y".repeat(70_000)}"}]`)
      ]
      for (const answer of refused) {
        assert.strictEqual(answer.status, 400)
        assert.deepStrictEqual([problemOf(answer).code, problemOf(answer).errors[0]?.path], ["row_too_large", "/edits"])
      }
      assert.strictEqual((yield* edit(id, `[{"op":"remove","field":"a"},${append.slice(1)}`)).status, 200)
      assert.strictEqual((yield* rows)[0]?.length, 1006)
    })
  )

  it.effect("are what a note names where a patch has another database's operators", () =>
    Effect.gen(function* () {
      const { add, send } = yield* started
      const id = yield* add('{"n":1}')
      for (const patch of ['{"n":{"$inc":1}}', '{"$set":{"n":1}}']) {
        const answers = [
          yield* send("/update_row", `{"id":"${id}","patch":${patch}}`),
          yield* send("/update_where", `{"filter":{"id":"${id}"},"patch":${patch}}`)
        ]
        for (const answer of answers)
          assert.match(bodyOf<{ note: string }>(answer).note, /^A patch stores.*"edits|edits:/)
      }
      const plain = yield* send("/update_row", `{"id":"${id}","patch":{"n":{"a":"$inc"},"price":"$5"}}`)
      assert.notInclude(plain.text, '"note"')
    })
  )
})
