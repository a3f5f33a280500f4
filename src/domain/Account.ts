import { Schema, Option, SchemaGetter } from "effect"
import { limitNames, limits, usageName, type UsageLimits as Values } from "./Limits.ts"

const count = (description: string) => Schema.Natural.annotate({ description })

const UsageLimits = Schema.Struct(
  Object.fromEntries(limitNames.map((name) => [usageName(name), count(limits[name].meaning)])) as {
    readonly [Name in keyof Values]: typeof Schema.Natural
  }
).annotate({ identifier: "UsageLimits", description: "The service's limits. Bytes are of UTF-8." })

/** What an account uses, its limits, and how many requests the calling key can still send at once. */
export const Usage = Schema.Struct({
  account_id: Schema.String,
  key: Schema.Struct({ id: Schema.String, name: Schema.String }).annotate({ description: "The key of this request." }),
  tables: count("Tables that have rows."),
  rows: count("Live rows of all tables."),
  storage_bytes: count("Bytes of the live rows, without their system fields."),
  version_storage_bytes: count("Bytes of the archived versions."),
  limits: UsageLimits,
  remaining: Schema.Struct({ writes: Schema.Natural, reads: Schema.Natural }).annotate({
    description: "How many requests the key can send at once, within its own limit and the account's, after this one."
  })
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type

/** An instant on the wire: RFC 3339 in UTC with milliseconds. */
export const Timestamp = Schema.String.annotate({ format: "date-time", examples: ["2026-11-27T20:07:59.549Z"] })

/** An account's id: 20 characters of base 32 in lower case. Part of every key the account has. */
export const AccountId = Schema.String.pipe(Schema.brand("AccountId"))
export type AccountId = typeof AccountId.Type

/** How many random bytes {@link accountIdFrom} takes. */
export const accountIdBytes = 20

const base32 = "abcdefghijklmnopqrstuvwxyz234567"

/** Makes an account's id of {@link accountIdBytes} random bytes. */
export const accountIdFrom = (random: Uint8Array): AccountId =>
  AccountId.make(Array.from(random.subarray(0, accountIdBytes), (byte) => base32.charAt(byte & 31)).join(""))

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const atoms = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
const mailbox = new RegExp(
  `^(?=.{3,254}$)(?=[^@]{1,64}@)${atoms}(?:\\.${atoms})*@(?=.{1,253}$)${label}(?:\\.${label})*$`
)

/** The form in which addresses are compared and kept: without surrounding white space, in lower case. */
const normalizeEmail = (address: string): string =>
  // Only A to Z: the language's own rule turns U+212A (the Kelvin sign) into a plain k, another person's address.
  address.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/**
 * One plain ASCII mailbox. Quoted parts, comments, lists, address literals and line breaks are refused: every one of
 * them has been used to send a mail to another address than the one that was checked.
 */
export const Email = Schema.String.check(
  Schema.isPattern(mailbox, { message: "must be one plain e-mail address of at most 254 ASCII characters" })
)
  .annotate({ format: "email" })
  .pipe(Schema.brand("Email"))
export type Email = typeof Email.Type

/** {@link Email} as people type it. */
export const EmailInput = Schema.String.annotate({ format: "email", examples: ["ada@example.com"] }).pipe(
  Schema.decodeTo(Email, {
    decode: SchemaGetter.transform(normalizeEmail),
    encode: SchemaGetter.passthrough()
  })
)

/** The body of `POST /auth/magic-link`. */
export const MagicLinkRequest = Schema.Struct({ email: EmailInput })

/** How many random bytes a token is made of. */
export const tokenBytes = 32

/** The prefixes of the tokens of MCP clients, by which secret scanners know them. */
export const accessTokenPrefix = "svc_access_"
export const refreshTokenPrefix = "svc_refresh_"

// The account is in front, so that what a token opens is found where the account's other data is.
const format = /^([a-z2-7]{20})_[A-Za-z0-9_-]{43}$/

/** The text of a token of {@link tokenBytes} random bytes: of a link, a browser session, a code or, with a prefix, a client. */
export const makeToken = (accountId: AccountId, random: Uint8Array, prefix = ""): string =>
  `${prefix}${accountId}_${Buffer.from(random).toString("base64url")}`

/** A sign-in link's token as it was pasted, without characters that no token has; none where no token is left. */
export const signInTokenOf = (pasted: string): Option.Option<string> =>
  Option.liftPredicate(pasted.replaceAll(/[^\w-]/g, ""), (token) => /^[\w-]{43}$/.test(token))

/** The account that a token would belong to; none for what cannot be a token of this prefix. */
export const accountOfToken = (token: string, prefix = ""): Option.Option<AccountId> => {
  const found = token.startsWith(prefix) ? format.exec(token.slice(prefix.length))?.[1] : undefined
  return Option.map(Option.fromNullishOr(found), (id) => AccountId.make(id))
}
