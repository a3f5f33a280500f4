import type { AccountId } from "../../domain/Account.ts"
import type { KeyId } from "../../domain/Key.ts"
import { RateLimited } from "../../domain/Problem.ts"
import * as Buckets from "./Buckets.ts"

/** Writes are the calls that change rows or keys; everything else under `/v1`, and through links, is a read. */
export type RequestClass = "read" | "write"

/** Whose bucket: that of the key, connection or link itself, or the one that all of its account share. */
type BucketOwner = "own" | "account"

/** How fast each of the two buckets of a request fills. */
export type Paces = Readonly<Record<BucketOwner, Buckets.Pace>>

/** A point in time as the database has it, for one account. */
export interface Moment {
  /** The database's clock. */
  readonly now: Date
  /** Which of the account's changes was the last one. */
  readonly revision: number
  /** When the database's server was started (seconds since 1970): over another start revisions may mean other content. */
  readonly incarnation: number
}

/** Who reads, and the point in time at which the request was let in: what is read is never older. */
export interface Reader extends Pick<Moment, "revision" | "incarnation"> {
  readonly accountId: string
}

/** Whether both buckets had a token, and in how many seconds each is full again. */
export interface Verdict extends Moment {
  readonly allowed: boolean
  readonly ahead: Readonly<Record<BucketOwner, number>>
}

/** Who wants to be let in: the key with this SHA-256, or a connection or link with this id. */
export interface AdmissionRequest {
  readonly accountId: AccountId
  readonly sender: { readonly hash: Uint8Array } | { readonly id: string }
  readonly class: RequestClass
}

/** In how many seconds the buckets of each class are full again. */
export type Ahead = Readonly<Record<RequestClass, Verdict["ahead"]>>

interface Spending {
  readonly class: RequestClass
  /** The bucket that is told of: the one that refused, or else the one with fewer requests left. */
  readonly bucket: BucketOwner
  readonly limit: number
}

/** Refused; `retryAfter` (whole seconds) is when the next request of the class is let in. */
export interface Limited extends Spending {
  readonly _tag: "Limited"
  readonly retryAfter: number
}

/** Let in; `reset` (whole seconds) is when all of `limit` can be spent again. */
export interface Passed extends Spending, Moment {
  readonly _tag: "Passed"
  readonly remaining: number
  readonly reset: number
}

/** {@link Passed}, and whose request it is. */
export interface Admitted extends Omit<Passed, "_tag"> {
  readonly _tag: "Admitted"
  readonly key: { readonly accountId: AccountId; readonly id: KeyId; readonly name: string }
}

/** What becomes of a request that showed a key: `Unknown` is an unknown key or a revoked one. */
export type Admission = { readonly _tag: "Unknown" } | Limited | Admitted

/** The paces of each class, as the limits set them. */
export const pacesOf = (limits: {
  readonly writesPerMinute: number
  readonly readsPerMinute: number
  readonly accountWritesPerMinute: number
  readonly accountReadsPerMinute: number
}): Readonly<Record<RequestClass, Paces>> => ({
  write: { own: Buckets.pace(limits.writesPerMinute, 60), account: Buckets.pace(limits.accountWritesPerMinute, 60) },
  read: { own: Buckets.pace(limits.readsPerMinute, 60), account: Buckets.pace(limits.accountReadsPerMinute, 60) }
})

/** How many requests both buckets together still let in at once. */
export const remaining = (paces: Paces, ahead: Verdict["ahead"]): number =>
  Math.min(Buckets.remaining(paces.own, ahead.own), Buckets.remaining(paces.account, ahead.account))

/** What a verdict means to whoever sent the request. */
export const judge = (wanted: RequestClass, paces: Paces, verdict: Verdict): Passed | Limited => {
  const { ahead, allowed, incarnation, now, revision } = verdict
  const left = {
    own: Buckets.remaining(paces.own, ahead.own),
    account: Buckets.remaining(paces.account, ahead.account)
  }
  if (allowed) {
    const bucket = left.account < left.own ? "account" : "own"
    const limit = paces[bucket].burst
    const reset = Math.ceil(ahead[bucket])
    const moment = { now, revision, incarnation }
    return { _tag: "Passed", class: wanted, bucket, limit, ...moment, remaining: left[bucket], reset }
  }
  // Where both refuse, the one that does so for longer: the next request passes when both let it in.
  const waits = { own: Buckets.wait(paces.own, ahead.own), account: Buckets.wait(paces.account, ahead.account) }
  const bucket = waits.account > waits.own ? "account" : "own"
  const retryAfter = Buckets.retryAfter(paces[bucket], ahead[bucket])
  return { _tag: "Limited", class: wanted, bucket, limit: paces[bucket].burst, retryAfter }
}

/** A verdict on a request of a key. */
export const admission = (key: Admitted["key"], verdict: Passed | Limited): Limited | Admitted =>
  verdict._tag === "Limited" ? verdict : { ...verdict, _tag: "Admitted", key }

/** The refusal of a request, in words; `sender` is what has a bucket of its own. */
export const rateLimited = (
  { bucket, class: wanted, limit, retryAfter }: Limited,
  sender: "key" | "connection" | "link",
  advice: string
): RateLimited =>
  new RateLimited({
    detail:
      bucket === "own"
        ? `This ${sender} may send ${limit} ${wanted}s a minute.`
        : `The account may send ${limit} ${wanted}s a minute, over all its keys, connections and links together.`,
    hint: `Wait \`retry_after\` seconds. ${advice}`.trim(),
    limit,
    retry_after: retryAfter
  })

/**
 * The header fields of an answer under a limit: `RateLimit-Policy` and `RateLimit` as in the IETF's draft
 * (draft-ietf-httpapi-ratelimit-headers), and `Retry-After` for a refusal. They tell of the account's limit where that
 * is the closer one. An unknown key has none.
 */
export const rateLimitHeaders = (admission: Admission | Passed): Record<string, string> => {
  if (admission._tag === "Unknown") return {}
  const policy = `"${admission.bucket === "account" ? "account-" : ""}${admission.class}s"`
  const state =
    admission._tag === "Limited"
      ? `${policy};r=0;t=${admission.retryAfter}`
      : `${policy};r=${admission.remaining};t=${admission.reset}`
  return {
    "ratelimit-policy": `${policy};q=${admission.limit};w=60`,
    ratelimit: state,
    ...(admission._tag === "Limited" ? { "retry-after": String(admission.retryAfter) } : {})
  }
}
