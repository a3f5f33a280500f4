import { Schema, SchemaGetter } from "effect"

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
 * them has been used to make a mail go to somebody else than the address that was checked.
 */
export const Email = Schema.String.check(
  Schema.isPattern(mailbox, { message: "must be one plain e-mail address of at most 254 ASCII characters" })
)
  .annotate({ format: "email" })
  .pipe(Schema.brand("Email"))
export type Email = typeof Email.Type

/** {@link Email} as people type it. */
const EmailInput = Schema.String.annotate({ format: "email", examples: ["ada@example.com"] }).pipe(
  Schema.decodeTo(Email, {
    decode: SchemaGetter.transform(normalizeEmail),
    encode: SchemaGetter.passthrough()
  })
)

/** What `POST /auth/magic-link` is sent. */
export const MagicLinkRequest = Schema.Struct({ email: EmailInput })
export type MagicLinkRequest = typeof MagicLinkRequest.Type

/** What `POST /auth/magic-link` answers; `dev_magic_link` only in local mode, to whoever sent the start secret. */
export const MagicLinkSent = Schema.Struct({
  ok: Schema.Boolean,
  expires_at: Timestamp,
  dev_magic_link: Schema.optionalKey(Schema.String.annotate({ format: "uri" }))
})
export type MagicLinkSent = typeof MagicLinkSent.Type

/** What `POST /auth/verify` is sent. */
export const VerifyRequest = Schema.Struct({ token: Schema.String })
export type VerifyRequest = typeof VerifyRequest.Type

/** What `POST /auth/verify` answers: a new key, shown this once. */
export const Verified = Schema.Struct({ api_key: Schema.String, account_id: AccountId })
export type Verified = typeof Verified.Type
