import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { done, newConnection, refused } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { bodyOf, serviceLayer } from "../../support/TestService.ts"

interface Called {
  readonly id: number
  readonly result: { readonly isError?: boolean; readonly content: ReadonlyArray<{ readonly text: string }> }
}

/** Sends several calls in one request, and gives their answers by id. */
const several = Effect.fnUntraced(function* (token: string, calls: ReadonlyArray<string>) {
  const body = `[${calls.map((params, id) => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`).join()}]`
  const answer = yield* callMcp(token, { body, headers: { accept: "application/json" } })
  assert.strictEqual(answer.status, 200, answer.text)
  return bodyOf<ReadonlyArray<Called>>(answer).toSorted((one, other) => one.id - other.id)
})

layer(serviceLayer(), { excludeTestServices: true, timeout: "60 seconds" })("Many calls in one request", (it) => {
  it.effect("leave the database to others, however much they read", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const operations = Array.from({ length: 100 }, (_, n) => ({
        action: "add",
        row: { n, text: "x".repeat(60_000) }
      }))
      for (let round = 0; round < 2; round++) yield* done(token, "batch", { table: "big", operations })
      const calls = Array.from({ length: 25 }, () => '{"name":"query","arguments":{"table":"big","limit":1000}}')
      const [answers, counts] = yield* Effect.all(
        [several(token, calls), Effect.forEach([1, 2, 3], () => done(token, "count", { table: "big" }))],
        { concurrency: "unbounded" }
      )
      assert.lengthOf(answers, 25)
      for (const { result } of answers) assert.isUndefined(result.isError, result.content[0]!.text.slice(0, 500))
      for (const { count } of counts) assert.strictEqual(count, 200)
    })
  )

  it.effect("are carried out one after another", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const pairs = Array.from({ length: 10 }, (_, n) => [
        `{"name":"add","arguments":{"table":"t","row":{"n":${n}}}}`,
        '{"name":"count","arguments":{"table":"t"}}'
      ])
      const answers = yield* several(token, pairs.flat())
      const counts = answers.filter((_, index) => index % 2 === 1).map(({ result }) => result.content[0]!.text)
      assert.deepStrictEqual(
        counts,
        pairs.map((_, n) => `{"count":${n + 1}}`)
      )
    })
  )

  it.effect("refuse an argument that would be lost on its way", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const answers = yield* several(token, ['{"name":"query","arguments":{"table":"t","__proto__":{"a":1}}}'])
      assert.isTrue(answers[0]!.result.isError)
      assert.include(answers[0]!.result.content[0]!.text, "__proto__")
    })
  )

  it.effect("are refused each for its own fault", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const add = (row: string) => `{"name":"add","arguments":{"table":"t","returnRows":true,"row":${row}}}`
      const apart = yield* several(token, [add('{"a":1.10}'), '{"name":"add","arguments":"{}"}', add("[]")])
      assert.isUndefined(apart[0]!.result.isError, apart[0]!.result.content[0]!.text)
      assert.include(apart[0]!.result.content[0]!.text, '"a":1.10')
      assert.include(apart[1]!.result.content[0]!.text, "not a string that holds one")
      assert.include(apart[2]!.result.content[0]!.text, "/row must be a JSON object")
      const [whole, faulty] = yield* several(token, [add('{"a":1.10}'), add('{"b":1,"b":2}')])
      assert.isUndefined(whole!.result.isError, whole!.result.content[0]!.text)
      assert.include(faulty!.result.content[0]!.text, '"code":"duplicate_field"')
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 2 })
    })
  )

  it.effect("name the next tool to call, not an operation of REST", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const { row } = yield* done(token, "add", { table: "t", row: { n: 1 } })
      const { id } = row as { id: string }
      const problems = [
        yield* refused(token, "restore", { table: "t", id, version: 9 }),
        yield* refused(token, "open_text_field", { table: "t", id, field: "n" })
      ]
      assert.deepStrictEqual(
        problems.map(({ hint }) => hint),
        ["List what can be restored with versions.", "Open the whole row with open_row instead."]
      )
    })
  )
})
