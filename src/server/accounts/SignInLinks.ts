import { html, type Html } from "../doors/Html.ts"
import { type Mail, MailQueue } from "../mail/Mailer.ts"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { signInTokenOf, type Email } from "../../domain/Account.ts"
import { invalidToken, notASignInToken } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { Keys } from "../keys/Keys.ts"
import { makePrune } from "../sql/SharedSql.ts"
import { refine, transact } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Accounts } from "./Accounts.ts"
import { mailLimits, SignInThrottle, tryLimits } from "./SignInThrottle.ts"
import { Tokens } from "./Tokens.ts"

/** The address that a mailed link opens: a page whose button spends the token. */
export const signInUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/sign-in?token=${encodeURIComponent(token)}`

/** The mail to an address without an account that may not get one, so that its owner does not wait for a link. */
const noAccountMail = (to: string, baseUrl: string): Mail => {
  const text = [
    `Someone, hopefully you, asked for a sign-in link to Agent Memory at ${new URL(baseUrl).host}.`,
    "This address has no account and cannot create one. If it should have one, contact the operator of the service.",
    "If you did not ask for this, ignore this email."
  ]
  const page = html`<!doctype html><html lang="en"><body>\n${text.map((line) => html`<p>${line}</p>\n`)}</body></html>`
  return { to, subject: "No account at Agent Memory", text: `${text.join("\n\n")}\n`, html: String(page) }
}

const paragraph = (content: Html | string) => html`<p style="margin:0 0 16px">${content}</p>\n`

/** The mail with a sign-in link, and with a code for a sign-in that began in a browser. */
export const signInMail = (input: {
  readonly to: string
  readonly baseUrl: string
  readonly token: string
  readonly minutes: number
  readonly code?: string | undefined
}): Mail => {
  const { baseUrl, code, minutes, to, token } = input
  const url = signInUrl(baseUrl, token)
  const { host } = new URL(baseUrl)
  const ask = `Someone, hopefully you, asked for a sign-in link to Agent Memory at ${host}.`
  const page = code === undefined ? "gives you a new API key" : "signs in the browser it is opened in"
  const life = minutes === 1 ? "1 minute" : `${minutes} minutes`
  const use = `The link works once, for ${life}. It opens a page with a button that ${page}.`
  const typed = "To continue in the browser where you began, type this code there instead:"
  const warning =
    `Type the code only into the page that you opened yourself at ${host}, and do not share it: ` +
    "anyone who has it can sign in as you."
  const without = code === undefined ? "the link" : "the link or the code"
  const ignore = `If you did not ask for this, ignore this email: nothing happens without ${without}.`

  const text = [ask, url, use, ...(code === undefined ? [] : [typed, code, warning]), ignore]
  const button = html`<a href="${url}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1a5f4a;color:#ffffff;text-decoration:none;font-weight:600">Sign in to Agent Memory</a>`
  const shownCode = html`<strong style="font:600 24px/1.2 ui-monospace,monospace">${code}</strong>`
  const content = [
    ask,
    button,
    use,
    ...(code === undefined ? [] : [typed, shownCode, warning]),
    html`<span style="color:#6a675f">${ignore}</span>`
  ]
  return {
    to,
    subject: "Your sign-in link for Agent Memory",
    text: `${text.join("\n\n")}\n`,
    html: String(
      html`<!doctype html><html lang="en"><body style="margin:0;padding:24px;background:#fbfaf8;color:#1d1c19;font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif"><div style="max-width:34em">\n${content.map(paragraph)}</div></body></html>`
    )
  }
}

interface Asked {
  readonly email: Email
  readonly ip: string
  /** The browser that the sign-in began in: its secret, the code to type there, and the path it continues to. */
  readonly asking?: { readonly browser: string; readonly code: string; readonly returnTo: string }
}

/** The text whose hash is stored for a code. It includes the browser's secret, because six digits alone can be guessed. */
export const codeText = (browser: string, code: string): string => `${browser}:${code}`

/** Links to sign in with, mailed to a person's address. The first sign-in creates the account. */
export class SignInLinks extends Context.Service<SignInLinks>()("agent-memory/server/accounts/SignInLinks", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const accounts = yield* Accounts
    const throttle = yield* SignInThrottle
    const keys = yield* Keys
    const mails = yield* MailQueue
    const tokens = yield* Tokens
    const { baseUrl, limits } = yield* Settings
    const minutes = limits.magicLinkMinutes

    /** Stores a link and expires the address's earlier ones. Returns when it expires. */
    const insert = traced("SignInLinks.insert")(function* (hash: Uint8Array, { asking, email }: Asked) {
      const browserHash = asking === undefined ? null : yield* tokens.hash(asking.browser)
      const codeHash = asking === undefined ? null : yield* tokens.hash(codeText(asking.browser, asking.code))
      const [inserted] = yield* sql<{ expires_at: Date }>`
        WITH clock AS MATERIALIZED (SELECT memory_now() AS now), replaced AS (
          UPDATE magic_links
          SET used_at = clock.now, replaced_at = clock.now
          FROM clock
          WHERE email = ${email} AND used_at IS NULL AND magic_links.expires_at > clock.now
        )
        INSERT INTO magic_links (hash, email, created_at, expires_at, browser_hash, code_hash, return_to)
        SELECT ${hash}, ${email}, clock.now, clock.now + ${minutes}::int * interval '1 minute',
          ${browserHash}::bytea, ${codeHash}::bytea, ${asking?.returnTo ?? null}::text
        FROM clock
        RETURNING expires_at
      `
      return inserted!.expires_at.toISOString()
    }, refine)

    // The limits of an address serialise its mails, so that of two links exactly one replaces the other.
    const store = Effect.fnUntraced(function* (asked: Asked, token: string) {
      yield* throttle.spend(mailLimits(limits, asked))
      return yield* insert(yield* tokens.hash(token), asked)
    }, transact(sql))

    /**
     * Sends a link, and a code if a browser asked. Known and unknown addresses are treated alike; an address that may have no
     * account gets a mail that says so. Whether the mail arrives is not reported. The token belongs in the mail; in a response
     * only in local mode.
     */
    const send = traced("SignInLinks.send")(function* (asked: Asked) {
      yield* mails.room
      const token = yield* tokens.secret
      const expires_at = yield* store(asked, token)
      const to = asked.email
      const mail = (yield* accounts.maySignIn(to))
        ? signInMail({ to, baseUrl, token, minutes, code: asked.asking?.code })
        : noAccountMail(to, baseUrl)
      yield* mails.offer(mail)
      return { expires_at, token }
    })

    /** The address that an unspent link would sign in. Spends nothing. */
    const find = traced("SignInLinks.find")(function* (token: string) {
      const found = yield* sql<{ email: Email; expires_at: Date }>`
        SELECT email, expires_at
        FROM magic_links
        WHERE hash = ${yield* tokens.hash(token)} AND browser_hash IS NULL AND used_at IS NULL
          AND expires_at > memory_now()
      `
      return Option.fromUndefinedOr(found[0])
    }, refine)

    /** Whether a later mail to its address replaced a link. */
    const isReplaced = traced("SignInLinks.isReplaced")(function* (token: string) {
      const found = yield* sql`
        SELECT FROM magic_links
        WHERE hash = ${yield* tokens.hash(token)} AND replaced_at IS NOT NULL AND expires_at > memory_now()
      `
      return found.length > 0
    }, refine)

    const spend = Effect.fnUntraced(function* (token: string) {
      const [link] = yield* sql<{ email: Email; day: string }>`
        UPDATE magic_links
        SET used_at = memory_now()
        WHERE hash = ${yield* tokens.hash(token)} AND browser_hash IS NULL AND used_at IS NULL
          AND expires_at > memory_now()
        RETURNING email, to_char(used_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day
      `
      if (link === undefined || !(yield* accounts.maySignIn(link.email))) return yield* invalidToken()
      const account_id = yield* accounts.findOrCreate(link.email)
      const { api_key } = yield* keys.issue(account_id, `magic link ${link.day}`)
      return { api_key, account_id }
    }, transact(sql))

    /** Spends a link that no browser asked for, and returns a new key. Of concurrent attempts exactly one succeeds. */
    const verify = traced("SignInLinks.verify")(function* (input: { readonly token: string; readonly ip: string }) {
      yield* throttle.spend(tryLimits(limits, input.ip))
      const token = signInTokenOf(input.token)
      return yield* Option.isNone(token) ? notASignInToken() : spend(token.value)
    })

    const pruneLinks = makePrune(sql, "SignInLinks", {
      table: "magic_links",
      key: "hash",
      due: sql`expires_at <= (SELECT memory_now())`,
      oldest: "expires_at"
    })

    /** Removes at most `rows` expired links and as many full buckets. Returns how many. */
    const prune = (rows: number) =>
      Effect.zipWith(pruneLinks(rows), throttle.prune(rows), (links, buckets) => links + buckets)

    return { send, find, isReplaced, verify, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
