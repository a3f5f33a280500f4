import { Option, Schema } from "effect"
import { AccountId, Timestamp } from "./Account.ts"
import { timedCursor } from "./Row.ts"

/** A key's id, used to revoke it. An id from a caller can be any string. */
export const KeyId = Schema.String.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/** The label of a key. PostgreSQL's text cannot store NUL or lone surrogates. */
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

/** A listed key, without its text. `last_used_at` is accurate to a minute. */
export const ApiKey = Schema.Struct(record).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** A page of an account's keys, oldest first. `next_cursor` leads to the next page, if there is one. */
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

/** A new key, whose text is shown only once. */
export const CreatedApiKey = Schema.Struct({ ...record, api_key: Schema.String }).annotate({
  identifier: "CreatedApiKey"
})
export type CreatedApiKey = typeof CreatedApiKey.Type

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const format = /^svc_live_([a-z2-7]{20})_([0-9A-Za-z]{43})$/
const checkLength = 2
const randomLength = 43 - checkLength

/** How many random bytes {@link make} needs: 41 characters of base 62 encode 244 bits of them. */
export const secretBytes = 32

// A prime below 62², so that two check characters encode any remainder. As it is above 62, every wrong character is detected,
// and as the powers of the base differ over the whole length, so is every swap of two characters.
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

/** Makes the text of a new key from {@link secretBytes} random bytes. */
export const make = (accountId: AccountId, random: Uint8Array): string => {
  const body = encode(random)
  return `svc_live_${accountId}_${body}${checksum(accountId + body)}`
}

/** The account of a key's text. None for a mistyped key, which is refused without a look-up. */
export const parse = (text: string): Option.Option<AccountId> => {
  const match = format.exec(text)
  if (match === null) return Option.none()
  const [, accountId = "", secret = ""] = match
  return checksum(accountId + secret.slice(0, randomLength)) === secret.slice(randomLength)
    ? Option.some(AccountId.make(accountId))
    : Option.none()
}

/** The part of a key that is listed: everything up to the fourth character of the secret. */
export const prefix = (key: string): string => key.slice(0, "svc_live_".length + 20 + 1 + 4)

/** The cursor of the page after a key. */
export const cursorAfter = ({ created_at, id }: ApiKey): string => timedCursor({ at: Date.parse(created_at), id })
