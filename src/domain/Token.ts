import { Option } from "effect"
import { AccountId } from "./Account.ts"

/** How many random bytes a token is made of. */
export const tokenBytes = 32

/** What the tokens that clients of `/mcp` hold begin with, so that secret scanners know them. */
export const accessTokenPrefix = "svc_access_"
export const refreshTokenPrefix = "svc_refresh_"

// The account is in front, so that what a token opens is found where the account's other data is.
const format = /^([a-z2-7]{20})_[A-Za-z0-9_-]{43}$/

/** The text of a token of {@link tokenBytes} random bytes: of a link, a browser session, a code or, with a prefix, a client. */
export const makeToken = (accountId: AccountId, random: Uint8Array, prefix = ""): string =>
  `${prefix}${accountId}_${Buffer.from(random).toString("base64url")}`

/**
 * A sign-in link's token as it was pasted, without what no token can hold: blanks, line breaks, and marks of the text
 * around it. None where no token is left.
 */
export const signInTokenOf = (pasted: string): Option.Option<string> =>
  Option.liftPredicate(pasted.replaceAll(/[^\w-]/g, ""), (token) => /^[\w-]{43}$/.test(token))

/** The account that a token would belong to; none for what cannot be a token of this prefix. */
export const accountOfToken = (token: string, prefix = ""): Option.Option<AccountId> => {
  const found = token.startsWith(prefix) ? format.exec(token.slice(prefix.length))?.[1] : undefined
  return Option.map(Option.fromNullishOr(found), (id) => AccountId.make(id))
}
