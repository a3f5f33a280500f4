import { answer, shapes } from "./Answers.ts"
import { checkLocalSecret, connectionOf, type CallOptions, type ConnectionOptions } from "./Options.ts"
import { makeSend } from "./Send.ts"

export interface MagicLinkSent {
  readonly ok: boolean
  readonly expires_at: string
  /** The link itself, only from a service in local mode to whoever sent its start secret, `localSecret`. */
  readonly dev_magic_link?: string
}

export interface Verified {
  /** The new key, shown in this answer only. */
  readonly api_key: string
  readonly account_id: string
}

export interface SignInOptions extends ConnectionOptions {
  /**
   * The start secret of a service that runs for its own machine alone: what is in the file `local-secret` of its
   * `DATA_DIR`. With it the service answers the link that it has no mail server for.
   */
  readonly localSecret?: string | undefined
}

/** The way to an account's first API key. */
export interface SignIn {
  /** Sends a sign-in link to the address, whether or not it has an account. */
  readonly magicLink: (email: string, options?: CallOptions) => Promise<MagicLinkSent>
  /** Exchanges a link's token for a new API key. A token works once. */
  readonly verify: (token: string, options?: CallOptions) => Promise<Verified>
}

/** Signs in by e-mail, without a key. Throws an `AgentMemoryError` with the code `invalid_options`. */
export const createSignIn = ({ localSecret, ...options }: SignInOptions = {}): SignIn => {
  const send = makeSend(connectionOf(options, undefined))
  const sent = answer<MagicLinkSent>(shapes.plain, "ok", "expires_at")
  const verified = answer<Verified>(shapes.plain, "api_key", "account_id")
  const headers: Readonly<Record<string, string>> =
    localSecret === undefined ? {} : { "x-local-secret": checkLocalSecret(localSecret) }
  return {
    magicLink: (email, options) => send("auth.magicLink", { body: { email }, headers }, options, sent),
    verify: (token, options) => send("auth.verify", { body: { token } }, options, verified)
  }
}
