import type { AccountId } from "../../domain/Account.ts"
import type { Moment } from "../../domain/Actor.ts"
import type { KeyId } from "../../domain/Key.ts"
import { RateLimited } from "../../domain/Problem.ts"
import type { Settings } from "../config/Settings.ts"
import * as Buckets from "../capacity/Buckets.ts"

/** Writes are requests that change rows or keys; everything else under `/v1` and through links is a read. */
export type RequestClass = "read" | "write"

/** The bucket of the key, connection or link itself, or the one of its whole account. */
type BucketOwner = "own" | "account"

/** The pace of each of a request's two buckets. */
export type Paces = Readonly<Record<BucketOwner, Buckets.Pace>>

/** Whether both buckets had a token, and in how many seconds each is full again. */
export interface Verdict extends Moment {
  readonly allowed: boolean
  readonly ahead: Readonly<Record<BucketOwner, number>>
}

/** The sender to find: the key with this SHA-256, or a connection or link with this id. */
export interface FindRequest {
  readonly accountId: AccountId
  readonly sender: { readonly hash: Uint8Array } | { readonly id: string }
}

/** A request to admit. */
export interface AdmissionRequest extends FindRequest {
  readonly class: RequestClass
}

/** In how many seconds the buckets of each class are full again. */
export type Ahead = Readonly<Record<RequestClass, Verdict["ahead"]>>

interface Spending {
  readonly class: RequestClass
  /** The bucket that is reported: the one that refused, or else the one with fewer requests left. */
  readonly bucket: BucketOwner
  readonly limit: number
}

/** Refused. In `retryAfter` whole seconds the next request of the class is admitted. */
export interface Limited extends Spending {
  readonly _tag: "Limited"
  readonly retryAfter: number
}

/** Admitted. In `reset` whole seconds all of `limit` can be spent again. */
export interface Passed extends Spending, Moment {
  readonly _tag: "Passed"
  readonly remaining: number
  readonly reset: number
}

/** {@link Passed}, with the key. */
export interface Admitted extends Omit<Passed, "_tag"> {
  readonly _tag: "Admitted"
  readonly key: { readonly accountId: AccountId; readonly id: KeyId; readonly name: string }
}

/** The result for a request with a key. `Unknown` is an unknown key or a revoked one. */
export type Admission = { readonly _tag: "Unknown" } | Limited | Admitted

/** The paces of each class, as the limits set them. */
export const pacesOf = (limits: Settings["Service"]["limits"]): Readonly<Record<RequestClass, Paces>> => ({
  write: { own: Buckets.pace(limits.writesPerMinute, 60), account: Buckets.pace(limits.accountWritesPerMinute, 60) },
  read: { own: Buckets.pace(limits.readsPerMinute, 60), account: Buckets.pace(limits.accountReadsPerMinute, 60) }
})

/** How many requests each bucket admits at once. */
export const leftOf = (paces: Paces, ahead: Verdict["ahead"]): Record<BucketOwner, number> => ({
  own: Buckets.remaining(paces.own, ahead.own),
  account: Buckets.remaining(paces.account, ahead.account)
})

/** The result of a verdict for the sender of the request. */
export const judge = (wanted: RequestClass, paces: Paces, verdict: Verdict): Passed | Limited => {
  const { ahead, allowed, incarnation, now, revision } = verdict
  if (allowed) {
    const left = leftOf(paces, ahead)
    const bucket = left.account < left.own ? "account" : "own"
    const limit = paces[bucket].burst
    const reset = Math.ceil(ahead[bucket])
    const moment = { now, revision, incarnation }
    return { _tag: "Passed", class: wanted, bucket, limit, ...moment, remaining: left[bucket], reset }
  }
  // If both refuse, the one that does so for longer, because the next request needs both.
  const waits = { own: Buckets.wait(paces.own, ahead.own), account: Buckets.wait(paces.account, ahead.account) }
  const bucket = waits.account > waits.own ? "account" : "own"
  const retryAfter = Buckets.retryAfter(paces[bucket], ahead[bucket])
  return { _tag: "Limited", class: wanted, bucket, limit: paces[bucket].burst, retryAfter }
}

/** The error for a refused request. `sender` is the kind of the sender. */
export const rateLimited = (
  { bucket, class: wanted, limit, retryAfter }: Limited,
  sender: "key" | "connection" | "link",
  advice: string
): RateLimited =>
  new RateLimited({
    detail:
      bucket === "own"
        ? `This ${sender} is limited to ${limit} ${wanted}s per minute.`
        : `The account is limited to ${limit} ${wanted}s per minute over all its keys, connections and links.`,
    hint: `Wait \`retry_after\` seconds. ${advice}`.trim(),
    limit,
    retry_after: retryAfter
  })

/**
 * The header fields of a response under a limit: `RateLimit-Policy` and `RateLimit` of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers), and `Retry-After` for a refusal. They report the account's limit if that is
 * the closer one. An unknown key has none.
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
