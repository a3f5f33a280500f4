import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { readFileSync } from "node:fs"
import { callTool, done, newConnection } from "../support/Mcp.ts"
import { serviceLayer } from "../support/TestService.ts"
import { increment, rowsOf, tasksFor } from "./Tasks.ts"

/** A line of the table in Tasks.md. */
interface Measured {
  readonly task: string
  readonly calls: number
  readonly refused: number
  readonly tokens: number
}

const table: ReadonlyArray<Measured> = readFileSync(new URL("Tasks.md", import.meta.url), "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, task, calls, refused, tokens] = /^\| ([^|]+?) +\| +([\d,]+) +\| +(\d+) +\| +([\d,]+) +\|/.exec(line) ?? []
    const number = (text: string | undefined) => Number(text?.replaceAll(",", ""))
    return task === undefined ? [] : [{ task, calls: number(calls), refused: Number(refused), tokens: number(tokens) }]
  })

/** Calls tools without rows in their answers, as agents do, and counts what passes. */
const makeMeter = (token: string) => {
  let [calls, refused, tokens] = [0, 0, 0]
  const call = Effect.fnUntraced(function* (tool: string, args: Record<string, unknown>) {
    const sent = JSON.stringify(args)
    // The support's own call asks for rows unless the arguments say what they want.
    const answer = yield* callTool(token, tool, { ...args, ...(writes.has(tool) && { returnRows: false }) })
    const text = answer.content[0]!.text
    calls++
    tokens += countTokens(sent) + countTokens(text)
    if (answer.isError === true) refused++
    return JSON.parse(text) as Record<string, unknown>
  })
  return { call, read: (task: string): Measured => ({ task, calls, refused, tokens }) }
}

const writes: ReadonlySet<string> = new Set(["add", "update_where", "remember", "restore"])

const assertWithin = (measured: Measured, most = Infinity) => {
  const line = table.find(({ task }) => task === measured.task)
  assert.isDefined(line, `${measured.task} is not in Tasks.md: ${JSON.stringify(measured)}`)
  assert.deepStrictEqual([measured.calls, measured.refused], [line!.calls, line!.refused], measured.task)
  assert.isAtMost(measured.tokens, line!.tokens, measured.task)
  assert.isBelow(measured.tokens, most, measured.task)
}

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "200" }), { excludeTestServices: true })("An agent's tasks", (it) => {
  it.effect("are done in as few calls and tokens as Tasks.md says, and none of them is refused", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const { most, name, steps } of tasksFor("agent")) {
        const meter = makeMeter(token)
        const results: Array<Record<string, unknown>> = []
        for (const { args, isDone, says, tool } of steps) {
          const result = yield* meter.call(tool, args(results))
          assert.isTrue(isDone(result), `${name}, ${says}: ${JSON.stringify(result)}`)
          results.push(result)
        }
        assertWithin(meter.read(name), most)
      }
    })
  )

  it.effect("lose none of 40 parallel increments", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* done(token, "add", { table: "counters", row: { name: "visits", n: 0 } })
      const meter = makeMeter(token)
      const all = Array.from({ length: 40 }, () => meter.call("update_where", increment))
      yield* Effect.all(all, { concurrency: "unbounded" })
      assertWithin(meter.read("40 parallel increments"))
      const counted = yield* done(token, "query", { table: "counters", fields: ["n"] })
      assert.strictEqual(rowsOf(counted)[0]?.["n"], 40)
    })
  )
})
