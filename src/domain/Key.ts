import { Option, Schema } from "effect"
import { AccountId, Timestamp } from "./Account.ts"

/** A key's id, used to revoke it. One that comes from a caller may be any string. */
export const KeyId = Schema.String.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/** The label a key is given when it is made. Neither NUL nor half a surrogate pair can be kept as text. */
export const KeyName = Schema.String.check(
  Schema.isBetweenCodePoints(1, 80, { message: "must have 1 to 80 characters" }),
  Schema.makeFilter((name) => name.isWellFormed() && !name.includes("\0"), {
    message: "must be Unicode text without NUL"
  })
)

const record = {
  id: KeyId,
  account_id: AccountId,
  name: Schema.String,
  prefix: Schema.String,
  scope: Schema.Literal("*"),
  revoked_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  last_used_at: Schema.NullOr(Timestamp)
}

/** What can be known of a key after it was made; never the key itself. `last_used_at` is right to a minute. */
export const ApiKey = Schema.Struct(record).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** Some of an account's keys, the oldest first; `next_cursor` goes on behind them where there are more. */
export const KeyPage = Schema.Struct({
  keys: Schema.Array(ApiKey),
  has_more: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether there are more; left out where all keys are here and no page was asked for."
    })
  ),
  next_cursor: Schema.optionalKey(Schema.String.annotate({ description: "Send it as `cursor` for the next page." }))
})
export type KeyPage = typeof KeyPage.Type

/** The answer that shows a new key, this once. */
export const CreatedApiKey = Schema.Struct({ ...record, api_key: Schema.String }).annotate({
  identifier: "CreatedApiKey"
})
export type CreatedApiKey = typeof CreatedApiKey.Type

/** What `POST /v1/_keys` is sent. */
export const CreateKeyRequest = Schema.Struct({ name: KeyName })
export type CreateKeyRequest = typeof CreateKeyRequest.Type

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const format = /^svc_live_([a-z2-7]{20})_([0-9A-Za-z]{43})$/
const checkLength = 2
const randomLength = 43 - checkLength

/** How many random bytes {@link make} takes: 41 characters of base 62 hold 244 bits of them. */
export const secretBytes = 32

// A prime below 62²: two check characters hold any remainder. As a prime above 62 it catches every wrong character, and
// since the powers of the base differ over the whole length, every two characters that were swapped.
const modulus = 3833
const base = 67

const checksum = (text: string): string => {
  let sum = 0
  for (let index = 0; index < text.length; index++) {
    sum = (sum * base + text.charCodeAt(index)) % modulus
  }
  return alphabet.charAt(Math.floor(sum / 62)) + alphabet.charAt(sum % 62)
}

const encode = (random: Uint8Array): string => {
  let value = random.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  let text = ""
  while (text.length < randomLength) {
    text += alphabet.charAt(Number(value % 62n))
    value /= 62n
  }
  return text
}

/** Makes the text of a new key of {@link secretBytes} random bytes. */
export const make = (accountId: AccountId, random: Uint8Array): string => {
  const body = encode(random)
  return `svc_live_${accountId}_${body}${checksum(accountId + body)}`
}

/** Reads the account from a key's text. A mistyped key is none: it needs no look-up to be refused. */
export const parse = (text: string): Option.Option<AccountId> => {
  const match = format.exec(text)
  if (match === null) return Option.none()
  const [, accountId = "", secret = ""] = match
  return checksum(accountId + secret.slice(0, randomLength)) === secret.slice(randomLength)
    ? Option.some(AccountId.make(accountId))
    : Option.none()
}

/** The part of a key that lists show: everything up to the secret's fourth character. */
export const prefix = (key: string): string => key.slice(0, "svc_live_".length + 20 + 1 + 4)
