import { Array, Context, Effect, Layer } from "effect"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { DatabaseUrl } from "../../support/Database.ts"
import { localHeadersOf } from "../../support/LocalSecrets.ts"
import { call, ready, type ServiceProcess, spawnService } from "../../support/ServiceProcess.ts"

/** The row limit of a table, small enough to be reached. */
export const rowLimit = 120

/** Two processes of the service on one database. */
export type Two = readonly [ServiceProcess, ServiceProcess]

/** Two processes of the service on the suite's database, with the specified rate limits. */
export class TwoInstances extends Context.Service<TwoInstances, Two>()(
  "agent-memory/test/server/instances/TwoInstances"
) {
  static readonly layerWith = <E, R>(variables: Effect.Effect<Record<string, string>, E, R>) =>
    Layer.effect(
      TwoInstances,
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        return yield* startTwo({ DATABASE_URL: url, LIMIT_ROWS_PER_TABLE: String(rowLimit), ...(yield* variables) })
      })
    )
}

/** Starts two processes with the same variables, both at once. */
export const startTwo = Effect.fnUntraced(function* (variables: Record<string, string>) {
  const all = {
    LIMIT_WRITES_PER_MINUTE: "30",
    LIMIT_READS_PER_MINUTE: "60",
    LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "1000",
    LIMIT_VERIFIES_PER_IP_PER_HOUR: "1000",
    ...variables
  }
  const [one, other] = yield* Effect.all([spawnService(all), spawnService(all)])
  return [yield* ready(one), yield* ready(other)] as const
})

const said = (two: Two, text: string) => two.map(({ output }) => output().split(text).length - 1).join()

/**
 * A check that counts on one store of buckets, repeated if Redis was lost meanwhile: other suites may keep it from the
 * processor for longer than requests wait for it.
 */
export const whileRedisLasts = <E, R>(two: Two, check: Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const before = said(two, "Redis is lost")
    const exit = yield* Effect.exit(check)
    if (said(two, "Redis is lost") === before) return yield* exit
    yield* waitUntil(() => said(two, "Redis is lost") === said(two, "Redis is back"), 30_000)
    return yield* check
  })

/** Requests at once, by turns to the one and to the other instance. */
export const overBoth = <A, E, R>(
  [one, other]: Two,
  times: number,
  request: (url: string, index: number) => Effect.Effect<A, E, R>
) =>
  Effect.all(
    Array.makeBy(times, (index) => request((index % 2 === 0 ? one : other).url, index)),
    { concurrency: "unbounded" }
  )

/** How many answers have a status. */
export const having = (replies: ReadonlyArray<{ readonly status: number }>, status: number) =>
  replies.filter((reply) => reply.status === status).length

/** Signs up, or in again, through an instance; gives the key. */
export const signIn = Effect.fnUntraced(function* (url: string, email: string) {
  const token = yield* magicLinkToken(url, email)
  const { text } = yield* verify(url, token)
  return (JSON.parse(text) as { readonly api_key: string }).api_key
})

/** Asks for a sign-in link and gives its token. */
export const magicLinkToken = Effect.fnUntraced(function* (url: string, email: string) {
  const { text } = yield* call(`${url}/auth/magic-link`, {
    body: JSON.stringify({ email }),
    headers: localHeadersOf(url)
  })
  const { dev_magic_link } = JSON.parse(text) as { readonly dev_magic_link: string }
  return new URL(dev_magic_link).searchParams.get("token") ?? ""
})

/** Spends a sign-in link's token. */
export const verify = (url: string, token: string) => call(`${url}/auth/verify`, { body: JSON.stringify({ token }) })

/** A further key of the account. */
export const newKey = Effect.fnUntraced(function* (url: string, key: string) {
  const { text } = yield* call(`${url}/v1/_keys`, { key, body: '{"name":"further"}' })
  return JSON.parse(text) as { readonly id: string; readonly api_key: string }
})

/** Revokes a key; gives the answer's status. */
export const revoke = (url: string, key: string, id: string) =>
  Effect.promise(async (signal) => {
    const headers = { authorization: `Bearer ${key}` }
    const { status } = await fetch(`${url}/v1/_keys/${id}`, { method: "DELETE", headers, signal })
    return status
  })

/** Several keys of the account, for more requests than one may send. */
export const newKeys = Effect.fnUntraced(function* (url: string, key: string, count: number) {
  const keys = yield* Effect.all(
    Array.makeBy(count, () => newKey(url, key)),
    { concurrency: "unbounded" }
  )
  return (index: number) => keys[index % count]?.api_key ?? ""
})
