import { Effect } from "effect"
import { randomFrom } from "../domain/json/RandomJson.ts"
import { Model } from "./Model.ts"
import { randomOperation, type Extras } from "./ModelGenerator.ts"
import { Names } from "./ModelNames.ts"
import { countersFault, difference, shrinkList, type Account, type Send, type ServiceAnswer } from "./ModelRun.ts"
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
      difference(call.operation, nextNames, expected, call.answer) === undefined &&
      hasOrder(nextModel, nextNames, calls.toSpliced(index, 1))
    )
  })
}

/** What is sent one after another to prepare rows, and then by each sender at the same time as by the others. */
interface History {
  readonly prepared: ReadonlyArray<ModelOperation>
  readonly sent: ReadonlyArray<ReadonlyArray<ModelOperation>>
}

interface Size {
  readonly senders: number
  /** How many operations each sender has. */
  readonly each: number
  readonly prepared: number
  readonly extras: Extras
}

const randomHistory = (limits: ModelLimits, seed: number, { each, extras, prepared, senders }: Size): History => {
  const random = randomFrom(seed)
  const model = new Model(limits)
  const made: Array<ModelOperation> = []
  const next = () => {
    const operation = randomOperation(random, model, made, extras)
    made.push(operation)
    return operation
  }
  const list = (length: number, make: () => ModelOperation) => Array.from({ length }, make)
  const first = list(prepared, () => {
    const operation = next()
    model.run(operation)
    return operation
  })
  return { prepared: first, sent: Array.from({ length: senders }, () => list(each, next)) }
}

const told = ({ prepared }: History, calls: ReadonlyArray<Call>) => {
  const lines = calls
    .toSorted((a, b) => a.start - b.start)
    .map(({ answer, end, operation, start }) =>
      [start.toFixed(2), end.toFixed(2), JSON.stringify(operation), "=>", JSON.stringify(answer.body)].join(" ")
    )
  return [...prepared.map((operation) => JSON.stringify(operation)), ...lines].join("\n")
}

/** Plays a history on an account of its own. It is a fault if the answers fit no order, or counters no recount. */
const play = Effect.fnUntraced(function* <E, R, E2, R2>(
  open: Effect.Effect<Account, E2, R2>,
  senders: ReadonlyArray<Send<E, R>>,
  limits: ModelLimits,
  history: History
) {
  const account = yield* open
  const model = new Model(limits)
  const names = new Names(account.keyId)
  for (const operation of history.prepared) {
    if (!names.knows(operation)) continue
    const [answer] = yield* senders[0]!(account, [names.resolve(operation)])
    const fault = difference(operation, names, model.run(operation), answer!)
    if (fault !== undefined) return `${told(history, [])}\nbefore the senders began: ${fault}`
  }
  const calls: Array<Call> = []
  yield* Effect.forEach(
    history.sent,
    Effect.fnUntraced(function* (operations, index) {
      for (const operation of operations.filter((one) => names.knows(one))) {
        const start = performance.now()
        const [answer] = yield* senders[index]!(account, [names.resolve(operation)])
        calls.push({ operation, answer: answer!, start, end: performance.now() })
      }
    }),
    { concurrency: "unbounded" }
  )
  if (!hasOrder(model, names, calls)) return `${told(history, calls)}\nno order of these calls gives these answers`
  const fault = yield* countersFault(account.accountId)
  return fault === undefined ? undefined : `${told(history, calls)}\n${fault}`
})

/** A race is not lost each time: so often a shorter history is played before it counts as one without a fault. */
const attempts = 10

/**
 * Prepares rows one after another, then lets every sender send random operations at the same time as the others. A fault
 * comes back as a text with the shortest history that leaving out operations finds.
 */
export const playConcurrently = Effect.fnUntraced(function* <E, R, E2, R2>(
  open: Effect.Effect<Account, E2, R2>,
  senders: ReadonlyArray<Send<E, R>>,
  limits: ModelLimits,
  { seed, ...size }: Omit<Size, "senders"> & { readonly seed: number }
) {
  const replay = Effect.fnUntraced(function* (history: History) {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const fault = yield* play(open, senders, limits, history)
      if (fault !== undefined) return fault
    }
    return undefined
  })
  let history = randomHistory(limits, seed, { ...size, senders: senders.length })
  const fault = yield* play(open, senders, limits, history)
  if (fault === undefined) return undefined
  for (const [index, operations] of history.sent.entries()) {
    const sent = (shorter: ReadonlyArray<ModelOperation>) => history.sent.with(index, shorter)
    const shortest = yield* shrinkList(operations, (shorter) => replay({ ...history, sent: sent(shorter) }))
    history = { ...history, sent: sent(shortest) }
  }
  const prepared = yield* shrinkList(history.prepared, (shorter) => replay({ ...history, prepared: shorter }))
  return `MODEL_SEED=${seed}\n${(yield* replay({ ...history, prepared })) ?? fault}`
})
