import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId, Email } from "../../domain/Account.ts"
import { RateLimited } from "../../domain/Problem.ts"
import type { Limits } from "../../domain/Limits.ts"
import { pace, retryAfter, type Pace } from "../capacity/Buckets.ts"
import { lockPatience, makePrune, texts } from "../sql/SharedSql.ts"
import { refine, transact } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** A bucket, and how many requests of it are allowed in an hour. */
export interface HourlyLimit {
  readonly bucket: string
  readonly perHour: number
}

/** The buckets of a mail: of its recipient and of its sender. */
export const mailLimits = (
  limits: Limits,
  { email, ip }: { readonly email: string; readonly ip: string }
): ReadonlyArray<HourlyLimit> => [
  { bucket: mailBucket(email), perHour: limits.magicLinksPerEmailPerHour },
  { bucket: `link:ip:${ip}`, perHour: limits.magicLinksPerIpPerHour }
]

/** The bucket of attempts with a link's token or a code. */
export const tryLimits = (limits: Limits, ip: string): ReadonlyArray<HourlyLimit> => [
  { bucket: `verify:ip:${ip}`, perHour: limits.verifiesPerIpPerHour }
]

const hourSeconds = 3600
const daySeconds = 86_400

/** The 20 wrong codes that an address may get in a day before its codes are no longer checked. */
const wrongCodePace = pace(20, daySeconds)
const mailBucket = (email: string): string => `link:email:${email}`
const wrongCodeBucket = (email: Email): string => `wrong-code:email:${email}`

const isEmpty = ({ burst, interval }: Pace, ahead: number): boolean => ahead * 1_000_000 > (burst - 1) * interval

// A bucket is never full later than its span from now, but for differences of clocks. Beyond that the clock was set back;
// the bucket then counts as full, because its callers would be refused for as long as the clock was set back by.
const isForgotten = (ahead: number, span: number): boolean => ahead > span + 10

/**
 * Limits sign-ins, with token buckets in the unlogged `sign_in_buckets`. Wrong codes are counted per address over all its
 * sign-ins, because every new sign-in would allow five more guesses of six digits.
 */
export class SignInThrottle extends Context.Service<SignInThrottle>()("agent-memory/server/accounts/SignInThrottle", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** Locks buckets until the transaction ends. Returns in how many seconds each is full; an empty one takes `span`. */
    const lock = traced("SignInThrottle.lock")(function* (buckets: ReadonlyArray<string>, span: number) {
      const states = yield* sql<{ bucket: string; ahead: number }>`
        INSERT INTO sign_in_buckets AS b (bucket, tat, allowed)
        SELECT name, memory_now(), true
        FROM unnest(${buckets}::text[]) AS name, (SELECT set_config('lock_timeout', ${lockPatience}, true)) AS patience
        ORDER BY name
        ON CONFLICT (bucket) DO UPDATE SET allowed = b.allowed
        RETURNING b.bucket, greatest(0, extract(epoch FROM b.tat - memory_now()))::float8 AS ahead
      `
      const forgotten = states.filter(({ ahead }) => isForgotten(ahead, span)).map(({ bucket }) => bucket)
      if (forgotten.length > 0) {
        yield* sql`UPDATE sign_in_buckets SET tat = memory_now() WHERE bucket = ANY(${forgotten}::text[])`
      }
      return new Map(states.map(({ ahead, bucket }) => [bucket, isForgotten(ahead, span) ? 0 : ahead]))
    }, refine)

    const take = traced("SignInThrottle.take")(function* (bucket: string, interval: number) {
      yield* sql`
        UPDATE sign_in_buckets
        SET tat = greatest(tat, memory_now()) + ${interval}::float8 * interval '1 microsecond'
        WHERE bucket = ${bucket}
      `
    }, refine)

    /** Takes a token from every bucket, or from none if one of them is empty. */
    const spend = traced("SignInThrottle.spend")(function* (limits: ReadonlyArray<HourlyLimit>) {
      const buckets = limits.map(({ bucket }) => bucket)
      const aheadOf = yield* lock(buckets, hourSeconds)
      const paced = limits.map(({ bucket, perHour }) => ({
        bucket,
        perHour,
        pace: pace(perHour, hourSeconds),
        ahead: aheadOf.get(bucket) ?? 0
      }))
      const refused = paced
        .filter(({ pace, ahead }) => isEmpty(pace, ahead))
        .map(({ perHour, pace, ahead }) => ({ limit: perHour, retry_after: retryAfter(pace, ahead) }))
        .toSorted((one, other) => other.retry_after - one.retry_after)[0]
      if (refused !== undefined) {
        return yield* new RateLimited({
          ...refused,
          detail: `At most ${refused.limit} of these requests are allowed per hour.`,
          hint: "Wait `retry_after` seconds. The last link that was sent may still be valid."
        })
      }
      yield* Effect.forEach(paced, ({ bucket, pace }) => take(bucket, pace.interval), { discard: true })
    }, transact(sql))

    /** Whether an address had too many wrong codes today, so that only the mailed link signs in. */
    const isLinkOnly = traced("SignInThrottle.isLinkOnly")(function* (email: Email) {
      const [state] = yield* sql<{ ahead: number }>`
        SELECT coalesce(greatest(0, extract(epoch FROM max(tat) - memory_now())), 0)::float8 AS ahead
        FROM sign_in_buckets
        WHERE bucket = ${wrongCodeBucket(email)}
      `
      return !isForgotten(state!.ahead, daySeconds) && isEmpty(wrongCodePace, state!.ahead)
    }, refine)

    /** {@link isLinkOnly}, and locks the address's codes until the transaction ends. */
    const lockCodes = traced("SignInThrottle.lockCodes")(function* (email: Email) {
      const aheadOf = yield* lock([wrongCodeBucket(email)], daySeconds)
      return isEmpty(wrongCodePace, aheadOf.get(wrongCodeBucket(email)) ?? 0)
    })

    const countWrongCode = traced("SignInThrottle.countWrongCode")((email: Email) =>
      take(wrongCodeBucket(email), wrongCodePace.interval)
    )

    /** Removes the buckets of an address and its account. */
    const forget = traced("SignInThrottle.forget")(function* (email: Email, accountId: AccountId) {
      const buckets = [mailBucket(email), wrongCodeBucket(email)]
      yield* sql`
        DELETE FROM sign_in_buckets
        WHERE bucket = ANY (${texts(buckets)}::text[]) OR bucket LIKE ${`%:account:${accountId}`}
      `
    }, refine)

    const prune = makePrune(sql, "SignInThrottle", {
      table: "sign_in_buckets",
      key: "bucket",
      due: sql`tat <= (SELECT memory_now())`
    })

    return { spend, isLinkOnly, lockCodes, countWrongCode, forget, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
