import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { randomFrom } from "../../domain/json/RandomJson.ts"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { callTool, done, newConnection } from "../../support/Mcp.ts"
import { limits, limitVariables, seeds } from "../../support/ModelPlays.ts"
import { connectedAccount, playRandomly, type Account } from "../../support/ModelRun.ts"
import { answerOfTool, sendByTools, sendByWire, toolOf, wireOf } from "../../support/ModelSend.ts"
import type { ModelOperation } from "../../support/ModelValues.ts"
import { showing } from "../../support/Statements.ts"
import { BaseUrl, bodyOf, request, serviceLayer, serviceOn } from "../../support/TestService.ts"

/** How often rows were read by SQL for a query or a count, or loaded into memory. */
let reads = 0
const counting = showing((text) =>
  Effect.sync(() => {
    if (/^\s*SELECT [^]*\bFROM rows\b/.test(text)) reads++
  })
)

/** Sends what it is given to another instance of the service on the suite's database, with settings of its own. */
const instance = Effect.fnUntraced(function* (variables: Record<string, string>) {
  const { url } = yield* DatabaseUrl
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
  const service = yield* Layer.build(Layer.fresh(serviceOn(Layer.fresh(pool), variables)))
  return <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, BaseUrl, Context.get(service, BaseUrl))
})

/** The text of an answer, without what tells one refusal from the same one. */
const withoutRequest = (text: string) => text.replace(/(?<="request_id":")[^"]*/, "")

/** What a read answers by either door. */
const readByWire = ({ apiKey }: Account, operation: ModelOperation) => {
  const { method, path } = wireOf(operation)
  return Effect.map(request(method, path, { key: apiKey }), ({ text }) => withoutRequest(text))
}
const readByTool = (account: Account, operation: ModelOperation) => {
  const [name, args] = toolOf(operation)
  return Effect.map(callTool(account.token!, name, args), ({ content, isError }) => ({
    ...(isError === true && { isError }),
    content: content.map(({ text, type }) => ({ type, text: withoutRequest(text) }))
  }))
}

/** What a tool says to the model beside what REST answers. */
const told = /,"(?:matched":\d+|note":"(?:[^"\\]|\\.)*")/g

layer(serviceLayer(limitVariables).pipe(Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, counting))), {
  excludeTestServices: true
})("Reads from memory", (it) => {
  it.effect(
    "P37 are the bytes of SQL at the moment of their admission, by both doors of two instances, whatever happens",
    () =>
      Effect.gen(function* () {
        const here = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect
        const both = [here, yield* instance(limitVariables)]
        const bySql = yield* instance({ ...limitVariables, CACHE_BYTES: "0" })
        let compared = 0

        const compare = Effect.fnUntraced(function* (account: Account, operation: ModelOperation) {
          const wanted = yield* bySql(readByWire(account, operation))
          const wantedOfTool = yield* bySql(readByTool(account, operation))
          for (const at of both) {
            const tool = yield* at(readByTool(account, operation))
            assert.strictEqual(yield* at(readByWire(account, operation)), wanted)
            assert.deepStrictEqual(tool, wantedOfTool)
            if (!("isError" in tool))
              assert.strictEqual(tool.content[0]!.text.replace(told, ""), wanted.replace(told, ""))
            // The first of them reads by SQL at most, and the second loads the table.
            reads = 0
            assert.strictEqual(yield* at(readByWire(account, operation)), wanted)
            assert.strictEqual(reads, 0)
            compared += 3
          }
          return answerOfTool(account, operation, wantedOfTool)
        })

        for (const seed of yield* seeds(3)) {
          const random = randomFrom(seed)
          // Each write by a door of an instance, each read by all of them.
          const send = (account: Account, operations: ReadonlyArray<ModelOperation>) =>
            Effect.forEach(operations, (operation) => {
              if (operation.kind === "query" || operation.kind === "count") return compare(account, operation)
              const at = both[random(2)]!
              const byDoor = random(2) === 0 ? sendByWire(account, [operation]) : sendByTools(account, [operation])
              return Effect.map(at(byDoor), ([answer]) => answer!)
            })
          const options = { groupSize: 1, length: 100, seed, extras: {} }
          const { fault } = yield* playRandomly(connectedAccount, send, limits, options)
          assert.isUndefined(fault, fault)
        }
        assert.isAbove(compared, 100)
      }),
    180_000
  )

  it.effect(
    "P37 are not older than any write that was answered before, by whichever door of whichever instance",
    () =>
      Effect.gen(function* () {
        const here = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect
        const both = [here, yield* instance(limitVariables)]
        const { apiKey: key, token } = yield* newConnection()
        const writers = both.flatMap((at) => [
          (row: string) => at(request("POST", "/v1/t/upsert", { key, body: `{"key":"k","row":${row}}` })),
          (row: string) => at(done(token, "upsert", `{"table":"t","key":["k"],"row":${row}}`))
        ])
        const readers = both.flatMap((at) => [
          at(Effect.map(request("GET", "/v1/t", { key }), (answer) => bodyOf(answer))),
          at(done(token, "query", { table: "t" }))
        ])
        const answered = writers.map(() => 0)
        const writing = { isOver: false }
        const writeAll = Effect.forEach(
          writers,
          Effect.fnUntraced(function* (write, k) {
            for (let n = 1; n <= 25; n++) {
              yield* write(`{"k":${k},"n":${n}}`)
              answered[k] = n
            }
          }),
          { concurrency: "unbounded" }
        )
        const readAll = Effect.forEach(
          readers,
          Effect.fnUntraced(function* (read) {
            while (!writing.isOver) {
              const least = [...answered]
              const { rows } = (yield* read) as {
                readonly rows: ReadonlyArray<{ readonly k: number; readonly n: number }>
              }
              for (const [k, n] of least.entries()) {
                assert.isAtLeast(rows.find((row) => row.k === k)?.n ?? 0, n)
              }
            }
          }),
          { concurrency: "unbounded" }
        )
        const writeThenEnd = Effect.ensuring(
          writeAll,
          Effect.sync(() => void (writing.isOver = true))
        )
        yield* Effect.all([writeThenEnd, readAll], { concurrency: "unbounded" })
        assert.deepStrictEqual(answered, [25, 25, 25, 25])
      }),
    60_000
  )
})
