import { Effect } from "effect"
import { randomFrom } from "../domain/json/RandomJson.ts"
import { Model } from "./Model.ts"
import { randomOperation } from "./ModelGenerator.ts"
import { Names } from "./ModelNames.ts"
import { countersFault, difference, freshAccount, type Send, type ServiceAnswer } from "./ModelRun.ts"
import type { ModelLimits, ModelOperation } from "./ModelValues.ts"

interface Call {
  readonly operation: ModelOperation
  readonly answer: ServiceAnswer
  readonly start: number
  readonly end: number
}

/**
 * Whether the answers of overlapping calls fit the model in some order of the calls that keeps those apart which did not
 * overlap (linearizability, by the search of Wing and Gong).
 */
const hasOrder = (model: Model, names: Names, calls: ReadonlyArray<Call>): boolean => {
  if (calls.length === 0) return true
  const firstEnd = Math.min(...calls.map(({ end }) => end))
  return calls.some((call, index) => {
    if (call.start > firstEnd) return false
    const [nextModel, nextNames] = [model.fork(), names.fork()]
    const expected = nextModel.run(call.operation)
    return (
      difference(nextNames, expected, call.answer) === undefined &&
      hasOrder(nextModel, nextNames, calls.toSpliced(index, 1))
    )
  })
}

/**
 * Prepares rows one after another, then lets every sender send random operations at the same time as the others. A
 * history whose answers fit no order comes back as a text, and so do counters that are not a recount.
 */
export const playConcurrently = Effect.fnUntraced(function* <E, R>(
  senders: ReadonlyArray<Send<E, R>>,
  limits: ModelLimits,
  { each, prepared, seed }: { readonly each: number; readonly prepared: number; readonly seed: number }
) {
  const random = randomFrom(seed)
  const account = yield* freshAccount
  const model = new Model(limits)
  const names = new Names(account.keyId)
  for (let n = 0; n < prepared; n++) {
    const operation = randomOperation(random, model, [], { saves: true })
    if (!names.knows(operation)) continue
    const [answer] = yield* senders[0]!(account, [names.resolve(operation)])
    const fault = difference(names, model.run(operation), answer!)
    if (fault !== undefined) return `MODEL_SEED=${seed}, before the senders began: ${fault}`
  }
  const calls: Array<Call> = []
  yield* Effect.forEach(
    senders,
    Effect.fnUntraced(function* (send) {
      const operations = Array.from({ length: each }, () => randomOperation(random, model, [], { saves: true }))
      for (const operation of operations.filter((one) => names.knows(one))) {
        const start = performance.now()
        const [answer] = yield* send(account, [names.resolve(operation)])
        calls.push({ operation, answer: answer!, start, end: performance.now() })
      }
    }),
    { concurrency: "unbounded" }
  )
  if (!hasOrder(model, names, calls)) {
    const told = calls
      .toSorted((a, b) => a.start - b.start)
      .map(({ answer, end, operation, start }) =>
        [start.toFixed(2), end.toFixed(2), JSON.stringify(operation), "=>", JSON.stringify(answer.body)].join(" ")
      )
    return `MODEL_SEED=${seed}: no order of these calls gives these answers\n${told.join("\n")}`
  }
  return yield* countersFault(account.accountId)
})
