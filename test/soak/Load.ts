import { inspect } from "node:util"
import { Effect, Schedule } from "effect"
import { pick, randomFrom, type Random } from "../domain/json/RandomJson.ts"
import { Model } from "../support/Model.ts"
import { randomOperation } from "../support/ModelGenerator.ts"
import { Names } from "../support/ModelNames.ts"
import { connectedAccount, countersFault, difference, type Account, type ServiceAnswer } from "../support/ModelRun.ts"
import { answerOfTool, asOfKey, told, toolOf, wireOf } from "../support/ModelSend.ts"
import { isWrite, type ModelLimits, type ModelOperation } from "../support/ModelValues.ts"
import { withRows, type ToolAnswer } from "../support/Mcp.ts"

/** What a run has done so far. */
export interface Totals {
  operations: number
  repeats: number
  accounts: Array<string>
}

type Attempt = { readonly answer: ServiceAnswer } | { readonly failed: string }

const patience = 15_000

const rpcOf = (text: string): string => /^data: ([^\n]*)$/m.exec(text)?.[1] ?? text

const send = async (url: string, init: RequestInit) => {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(patience) })
  return { status: response.status, text: await response.text() }
}

/** One request to one instance. A refusal that says nothing of the operation, and a broken connection, have failed. */
const attempt = async (url: string, account: Account, operation: ModelOperation, byTool: boolean): Promise<Attempt> => {
  try {
    if (byTool) {
      const [name, args] = toolOf(operation)
      const given = withRows(name, JSON.stringify(args))
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${given}}}`
      const { status, text } = await send(`${url}/mcp`, {
        method: "POST",
        body,
        headers: {
          authorization: `Bearer ${account.token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream"
        }
      })
      if (status !== 200) return { failed: `${status} ${text}` }
      const { result } = JSON.parse(rpcOf(text)) as { readonly result: ToolAnswer }
      if (result.isError && /"(?:unavailable|internal_error)"/.test(result.content[0]!.text)) {
        return { failed: `503 ${result.content[0]!.text}` }
      }
      return { answer: answerOfTool(account, operation, result) }
    }
    const { body, method, path } = wireOf(operation)
    const { status, text } = await send(url + path, {
      method,
      headers: {
        authorization: `Bearer ${account.apiKey}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...("key" in operation ? { "idempotency-key": operation.key! } : {})
      },
      ...(body === undefined ? {} : { body })
    })
    if (status >= 500) return { failed: `${status} ${text}` }
    return { answer: { status, body: told(operation, JSON.parse(asOfKey(text, account.keyId))), replayed: undefined } }
  } catch (error) {
    // Whatever fails meanwhile, nobody waits for so long.
    if (error instanceof DOMException && error.name === "TimeoutError") {
      throw new Error(`${url} did not answer within ${patience} ms: ${JSON.stringify(operation)}`, { cause: error })
    }
    return { failed: `disconnected ${String(error)}` }
  }
}

/** Sends an operation until it is answered, each time to whichever instance comes next. */
const untilAnswered = Effect.fnUntraced(function* (
  urls: ReadonlyArray<string>,
  account: Account,
  operation: ModelOperation,
  random: Random,
  totals: Totals
) {
  const tries = Effect.suspend(() => {
    const [url, byTool] = [pick(random, urls), random(3) === 0]
    return Effect.promise(() => attempt(url, account, operation, byTool))
  })
  const first = yield* tries
  if ("answer" in first) return first.answer
  const later = yield* tries.pipe(
    Effect.tap(() => Effect.sync(() => void totals.repeats++)),
    Effect.repeat({ until: (one) => "answer" in one, schedule: Schedule.spaced("50 millis"), times: 1200 })
  )
  // Whether the first came to something, nobody can tell who lost its answer.
  if ("answer" in later) return { ...later.answer, replayed: undefined }
  return yield* Effect.die(new Error(`never answered: ${JSON.stringify(operation)}\n${later.failed}`))
})

const isOutage = (cause: unknown): boolean => /503|unavailable|connection/i.test(inspect(cause, { depth: 8 }))

/** What the test does by itself meets the ended connections too. */
const patiently = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.sandbox,
    Effect.retry({ while: isOutage, schedule: Schedule.spaced("100 millis"), times: 50 }),
    Effect.orDie
  )

/**
 * Plays sequences of random operations, each on a new account, and compares every answer with the model's, until
 * `isOver`. Each write has an Idempotency-Key, so that one whose answer was lost is repeated without a second effect.
 */
export const play = Effect.fnUntraced(function* (
  urls: ReadonlyArray<string>,
  limits: ModelLimits,
  seed: number,
  totals: Totals,
  isOver: () => boolean
) {
  const random = randomFrom(seed)
  while (!isOver()) {
    const account = yield* patiently(connectedAccount)
    totals.accounts.push(account.accountId)
    const model = new Model(limits)
    const names = new Names(account.keyId)
    const earlier: Array<ModelOperation> = []
    const step = Effect.fnUntraced(function* (operation: ModelOperation) {
      const answer = yield* untilAnswered(urls, account, names.resolve(operation), random, totals)
      const expected = model.run(operation)
      const fault = difference(operation, names, expected, answer)
      totals.operations++
      if (fault === undefined) return
      const told = [operation, expected, answer].map((one) => JSON.stringify(one)).join("\n")
      return yield* Effect.die(new Error(`seed ${seed}: ${fault}\n${told}`))
    })
    for (let n = 0; n < 300 && !isOver(); n++) {
      const generated = randomOperation(random, model, earlier, {})
      const operation =
        isWrite(generated) && generated.key === undefined ? { ...generated, key: `only once ${n}` } : generated
      if (!names.knows(operation)) continue
      earlier.push(operation)
      yield* step(operation)
    }
    // All that the account holds, at the end.
    yield* step({ kind: "tables" })
    for (const { id, table } of model.rows) yield* step({ kind: "versions", table, id })
    for (const table of new Set(model.rows.map((row) => row.table))) yield* step({ kind: "query", table, limit: 1000 })
    const fault = yield* patiently(countersFault(account.accountId))
    if (fault !== undefined) return yield* Effect.die(new Error(`seed ${seed}: ${fault}`))
  }
})
