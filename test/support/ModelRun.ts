import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { wholeAccount } from "../../src/domain/Actor.ts"
import { Keys } from "../../src/server/keys/Keys.ts"
import { randomFrom } from "../domain/json/RandomJson.ts"
import { Model } from "./Model.ts"
import { randomOperation, type Extras } from "./ModelGenerator.ts"
import { Names } from "./ModelNames.ts"
import {
  isWrite,
  successOf,
  type Json,
  type ModelAnswer,
  type ModelLimits,
  type ModelOperation
} from "./ModelValues.ts"
import { newConnection } from "./Mcp.ts"
import { newAccount } from "./TestService.ts"

/** An answer of the service, in the model's terms except for ids and times. */
export interface ServiceAnswer {
  readonly status: number
  readonly body: Json
  /** Undefined where the door does not tell. */
  readonly replayed: boolean | undefined
}

export interface Account {
  readonly accountId: string
  readonly apiKey: string
  readonly keyId: string
  readonly email?: string
  /** Of a connection, where the account has one. */
  readonly token?: string
}

/** Sends operations to the service, in this order; names are resolved in their texts already. */
export type Send<E, R> = (
  account: Account,
  operations: ReadonlyArray<ModelOperation>
) => Effect.Effect<ReadonlyArray<ServiceAnswer>, E, R>

/** An account with a key. */
export const freshAccount = Effect.gen(function* () {
  const keys = yield* Keys
  const { accountId, apiKey } = yield* newAccount
  const keyId = (yield* keys.list(wholeAccount(accountId)))[0]!.id
  const email = `${accountId}@example.com`
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO account_emails (email, account_id) VALUES (${email}, ${accountId})`
  const account: Account = { accountId, apiKey, keyId, email }
  return account
})

/** An account with a key and a connection. */
export const connectedAccount = Effect.gen(function* () {
  const keys = yield* Keys
  const { accountId, apiKey, token } = yield* newConnection()
  const keyId = (yield* keys.list(wholeAccount(accountId)))[0]!.id
  const account: Account = { accountId, apiKey, keyId, token }
  return account
})

/** What went wrong first, or undefined. */
type Fault = string | undefined

/** Where an answer is another than the model's. */
export const difference = (
  operation: ModelOperation,
  names: Names,
  expected: ModelAnswer,
  actual: ServiceAnswer
): Fault => {
  if ("body" in expected) {
    const fault = names.match(expected.body, actual.body)
    if (fault !== undefined || actual.status !== successOf(operation)) return fault ?? `status ${actual.status}`
    const isAlike = actual.replayed === undefined || expected.replayed === actual.replayed
    return isAlike ? undefined : `replayed: ${actual.replayed}`
  }
  const problem = actual.body as { readonly [name: string]: Json }
  if (problem["code"] !== expected.code || actual.status !== expected.status) {
    return `${actual.status} ${JSON.stringify(problem["code"])}`
  }
  if (expected.matches !== undefined && problem["matches"] !== expected.matches) return `matches ${problem["matches"]}`
  // Which operation broke a limit on the end state is the service's to say: several may have.
  return expected.operation === undefined || problem["operation"] === expected.operation
    ? undefined
    : `operation ${problem["operation"]}`
}

const play = Effect.fnUntraced(function* <E, R, E2, R2>(
  open: Effect.Effect<Account, E2, R2>,
  send: Send<E, R>,
  limits: ModelLimits,
  groups: Iterable<(model: Model) => ReadonlyArray<ModelOperation>>
) {
  const account = yield* open
  const model = new Model(limits)
  const names = new Names(account.keyId)
  for (const group of groups) {
    const operations = group(model).filter((operation) => names.knows(operation))
    const answers = yield* send(
      account,
      operations.map((operation) => names.resolve(operation))
    )
    for (const [index, operation] of operations.entries()) {
      const expected = model.run(operation)
      const fault = difference(operation, names, expected, answers[index]!)
      if (fault !== undefined) {
        const told = `${JSON.stringify(operation)}\n  should answer ${JSON.stringify(expected)}`
        return `${told}\n  and answered  ${JSON.stringify(answers[index]!.body)}\n  (${fault})`
      }
    }
  }
  return yield* countersFault(account.accountId)
})

/** Compares every counter of an account with a recount. */
export const countersFault = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const [counted] = yield* sql<{ held: string; recounted: string }>`
    SELECT
      jsonb_build_array(a.storage_bytes, a.version_bytes, a.idempotency_bytes, (
        SELECT coalesce(jsonb_object_agg(name, rows), '{}') FROM tables t WHERE t.account_id = a.account_id AND rows <> 0
      ))::text AS held,
      jsonb_build_array(
        (SELECT coalesce(sum(octet_length(data)), 0) FROM rows r WHERE r.account_id = a.account_id),
        (SELECT coalesce(sum(octet_length(data)), 0) FROM versions v WHERE v.account_id = a.account_id),
        (SELECT coalesce(sum(octet_length(answer)), 0) FROM idempotency_records i WHERE i.account_id = a.account_id),
        (SELECT coalesce(jsonb_object_agg(table_name, rows), '{}') FROM (
          SELECT table_name, count(*) AS rows FROM rows r WHERE r.account_id = a.account_id GROUP BY table_name
        ) t)
      )::text AS recounted
    FROM accounts a
    WHERE account_id = ${accountId}
  `
  // A deleted account has none.
  if (counted === undefined) return undefined
  const { held, recounted } = counted
  return held === recounted ? undefined : `The counters are ${held} and a recount gives ${recounted}`
})

export interface PlayOptions {
  /** How many operations are sent at once at most. */
  readonly groupSize: number
  readonly length: number
  readonly seed: number
  readonly extras: Extras
}

/**
 * Plays a random sequence of operations against the service and the model, `groupSize` at a time. A fault comes back
 * as a text with the shortest failing sequence that leaving out operations finds.
 */
export const playRandomly = Effect.fnUntraced(function* <E, R, E2, R2>(
  open: Effect.Effect<Account, E2, R2>,
  send: Send<E, R>,
  limits: ModelLimits,
  { extras, groupSize, length, seed }: PlayOptions
) {
  const random = randomFrom(seed)
  const played: Array<ReadonlyArray<ModelOperation>> = []
  const generate = (model: Model) => {
    const earlier = played.flat()
    const group = Array.from({ length: groupSize === 1 ? 1 : 1 + random(groupSize) }, () =>
      randomOperation(random, model, earlier, extras)
    )
    // Of those that are sent together, reads are answered after the writes.
    group.sort((a, b) => Number(isWrite(b)) - Number(isWrite(a)))
    played.push(group)
    return group
  }
  const fault = yield* play(
    open,
    send,
    limits,
    Array.from({ length }, () => generate)
  )
  if (fault === undefined) return { operations: played.flat().length, fault }
  const replay = (groups: ReadonlyArray<ReadonlyArray<ModelOperation>>) =>
    play(
      open,
      send,
      limits,
      groups.map((group) => () => group)
    )
  const shortest = yield* shrink(played, replay)
  const again = yield* replay(shortest)
  const listed = shortest.map((group) => group.map((one) => JSON.stringify(one)).join("\n  with ")).join("\n")
  return { operations: played.flat().length, fault: `MODEL_SEED=${seed}\n${listed}\n\n${again ?? fault}` }
})

/** Shrinks the list of groups, then each group. */
const shrink = Effect.fnUntraced(function* <E, R>(
  failing: ReadonlyArray<ReadonlyArray<ModelOperation>>,
  replay: (groups: ReadonlyArray<ReadonlyArray<ModelOperation>>) => Effect.Effect<Fault, E, R>
) {
  let groups = yield* shrinkList(failing, replay)
  for (const index of groups.keys()) {
    const group = yield* shrinkList(groups[index]!, (shorter) => replay(groups.with(index, shorter)))
    groups = groups.with(index, group)
  }
  return groups
})

/** Leaves out ever smaller pieces of a list as long as a replay of the rest still gives a fault. */
export const shrinkList = Effect.fnUntraced(function* <A, E, R>(
  failing: ReadonlyArray<A>,
  replay: (list: ReadonlyArray<A>) => Effect.Effect<Fault, E, R>
) {
  let list = failing
  for (let piece = Math.ceil(list.length / 2); piece >= 1; piece = Math.floor(piece / 2)) {
    for (let start = 0; start < list.length;) {
      const shorter = [...list.slice(0, start), ...list.slice(start + piece)]
      if ((yield* replay(shorter)) === undefined) start += piece
      else list = shorter
    }
  }
  return list
})
