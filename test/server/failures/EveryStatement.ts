import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { createHash, randomBytes } from "node:crypto"
import {
  accessTokenPrefix,
  AccountId,
  accountIdBytes,
  accountIdFrom,
  makeToken,
  tokenBytes
} from "../../../src/domain/Account.ts"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { alike, alikeDump, copyAccount, dumpOf, settledDumpOf } from "../../support/AccountCopies.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../../support/Database.ts"
import { newConnection } from "../../support/Mcp.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { makeFaultyNetwork, type FaultyNetwork, type StatementFault } from "../../support/StatementFaults.ts"
import { bodyOf, newAccount, request, serviceOn, type Answer } from "../../support/TestService.ts"
import type { Sent } from "./EveryWrite.ts"

/** The network that the service reaches its database through, and the tests' own way around it. */
export class Faulty extends Context.Service<
  Faulty,
  { readonly network: FaultyNetwork; readonly direct: SqlClient.SqlClient }
>()("agent-memory/test/server/failures/EveryStatement/Faulty") {}

const BehindFaults = Layer.effectContext(
  Effect.gen(function* () {
    const { url } = yield* DatabaseUrl
    const network = yield* makeFaultyNetwork(url)
    const client: SqlClient.SqlClient = yield* poolOf(network.url)
    const direct: SqlClient.SqlClient = yield* poolOf(url)
    return Context.make(SqlClient.SqlClient, client).pipe(Context.add(Faulty, { network, direct }))
  })
)

/** A service whose every statement can fail, and the tests' way around that. */
export const faultyService = (variables: Readonly<Record<string, string>>) =>
  serviceOn(BehindFaults.pipe(Layer.provideMerge(DatabaseLayer)), { LOG_LEVEL: "none", ...variables })

/** Writes of a row that has two versions drop one; what is over the account's limit would go only after the answer. */
export const FaultyService = faultyService({ LIMIT_VERSIONS_PER_ROW: "2" })

/** Statements that go around the faults. */
export const directly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Faulty, ({ direct }) => Effect.provideService(effect, SqlClient.SqlClient, direct))

/** An account with rows, versions and a deleted row, copies of which have the same ids; and an account beside it. */
export const original = Effect.gen(function* () {
  const owner = yield* newConnection()
  const { apiKey: key } = owner
  const call = Effect.fnUntraced(function* (path: string, body: string) {
    const answer = yield* request("POST", `/v1/${path}`, { key, body })
    assert.isBelow(answer.status, 300, answer.text)
    return answer
  })
  const { id, updated_at } = bodyOf<{ id: string; updated_at: string }>(yield* call("notes", '{"n":1,"kind":"a"}'))
  const gone = bodyOf<{ id: string }>(yield* call("notes", '{"n":2,"kind":"gone"}')).id
  yield* call("notes", '{"n":3,"kind":"a"}')
  yield* call("notes/batch", '{"operations":[{"action":"delete","filter":{"n":2}}]}')
  const edited = bodyOf<{ id: string }>(yield* call("notes", '{"title":"new"}')).id
  for (const title of ["other", "kept"]) {
    yield* call("notes/update_row", JSON.stringify({ id: edited, patch: { title } }))
  }
  const { apiKey: other } = yield* newAccount
  return { owner, id, gone, edited, updatedAt: updated_at, other }
})

type Original = Effect.Success<typeof original>

/** A copy of the account with a key and a token of its own. */
const freshCopy = Effect.fnUntraced(function* ({ owner }: Original) {
  const sql = yield* SqlClient.SqlClient
  const accountId = AccountId.make(accountIdFrom(randomBytes(accountIdBytes)))
  yield* copyAccount(owner.accountId, accountId)
  const { api_key: apiKey } = yield* (yield* Keys).create(wholeAccount(accountId), "test")
  const token = makeToken(accountId, randomBytes(tokenBytes), accessTokenPrefix)
  yield* sql`
    INSERT INTO oauth_tokens (account_id, token_hash, connection_id, kind, generation, expires_at)
    SELECT account_id, ${createHash("sha256").update(token).digest()}, connection_id, 'access', 0, expires_at
    FROM connections
    WHERE account_id = ${accountId}
  `
  return { accountId, apiKey, token }
})

const send = ({ body, method = "POST", repeatable }: Sent, path: string, apiKey: string, token: string) => {
  if (path === "/mcp") {
    return request(method, path, { key: token, body, headers: { accept: "application/json, text/event-stream" } })
  }
  if (path.startsWith("/view/")) {
    const headers = method === "POST" ? { "content-type": "application/x-www-form-urlencoded" } : {}
    return request(method, path, { body, headers })
  }
  return request(method, path, { key: apiKey, body, headers: repeatable ? { "idempotency-key": "once" } : {} })
}

/** A tool tells a refusal within an answer that is 200. */
const isUnavailable = ({ status, text }: Answer) => status === 503 || /"code\\?":\\?"unavailable/.test(text)
/** An answer but for what is each request's own: its id, and that a tool's result is that of a repeat. */
const withoutNotes = (text: string) =>
  text.replace(/"request_id":"[^"]*"/, "").replaceAll(/,?\\?"replayed\\?":true/g, "")

const isRefused = (answer: Answer) => answer.status >= 400 || /"isError":true/.test(answer.text)

/** One write on a copy of the account, of which one statement meets a fault; gives whether there was such a statement. */
const oneFault = Effect.fnUntraced(function* (
  of: Original,
  write: Sent,
  nth: number,
  fault: StatementFault,
  clean: { readonly answer: string; readonly dump: ReadonlyArray<string> } | undefined
) {
  const { network } = yield* Faulty
  const { accountId, apiKey, token } = yield* directly(freshCopy(of))
  const path = typeof write.path === "string" ? write.path : yield* write.path(apiKey)
  const before = yield* directly(dumpOf(accountId))
  const told = (answer: Answer) => alike(withoutNotes(answer.text), accountId)

  network.arm(nth, fault)
  const answer = yield* send(write, path, apiKey, token).pipe(Effect.timeout("20 seconds"))
  const came = network.disarm()
  // A write whose answer is lost may still be on its way: the next one of the account waits for it.
  const settled = yield* directly(settledDumpOf(accountId))
  const dump = alikeDump(settled, accountId)
  if (clean === undefined) assert.isFalse(isRefused(answer), answer.text)
  if (clean === undefined || !came) return { came, answer: told(answer), dump }

  const where = `statement ${nth} ${JSON.stringify(fault)}: ${answer.status} ${answer.text}`
  const isAsBefore = settled.join("\n") === before.join("\n")
  if (!isAsBefore) assert.deepStrictEqual(dump, clean.dump, `neither before nor after: ${where}`)
  if (isRefused(answer)) {
    if (fault !== "lost") assert.isTrue(isAsBefore, `a refused write took effect: ${where}`)
    if (typeof fault === "string" || fault.refusedWith.startsWith("5")) assert.isTrue(isUnavailable(answer), where)
  } else {
    assert.isFalse(isAsBefore, `an acknowledged write is not there: ${where}`)
    assert.strictEqual(told(answer), clean.answer, where)
  }
  assert.isUndefined(yield* directly(countersFault(accountId)), where)

  const { status, text } = yield* request("GET", "/v1/_tables", { key: of.other })
  assert.strictEqual(status, 200, `another account after ${where}: ${text}`)

  const isAnsweredAlike = write.repeatable || isAsBefore
  if (isAnsweredAlike || write.isOnce === true) {
    const again = yield* send(write, path, apiKey, token).pipe(
      Effect.repeat({ while: isUnavailable, schedule: Schedule.spaced("10 millis"), times: 100 })
    )
    if (isAnsweredAlike) assert.strictEqual(told(again), clean.answer, `the repeat after ${where}`)
    assert.deepStrictEqual(
      alikeDump(yield* directly(dumpOf(accountId)), accountId),
      clean.dump,
      `the repeat after ${where}`
    )
    assert.isUndefined(yield* directly(countersFault(accountId)), where)
  }
  return { came, answer: clean.answer, dump: clean.dump }
})

/** Lets each statement of a write in turn meet each of the faults; gives how many statements it has. */
export const sweep = Effect.fnUntraced(function* (of: Original, write: Sent, faults: ReadonlyArray<StatementFault>) {
  const clean = yield* oneFault(of, write, 1000, "dropped", undefined)
  for (let nth = 1; ; nth++) {
    let came = false
    for (const fault of faults) came = (yield* oneFault(of, write, nth, fault, clean)).came || came
    if (!came) return nth - 1
  }
})

/** How many connections of the service are still in a transaction. */
export const openTransactions = directly(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql<{ count: number }>`
      SELECT count(*)::integer AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'
    `
    return found!.count
  })
)
