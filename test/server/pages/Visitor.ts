import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Sessions } from "../../../src/server/accounts/browser/Sessions.ts"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { wire, type WireAnswer } from "../wire/Wire.ts"

/** A person at a browser, as far as signing in needs one: it keeps cookies, and sends forms. */
export const newVisitor = () => {
  const cookies = new Map<string, string>()
  const set: Array<string> = []

  const send = Effect.fnUntraced(function* (
    method: string,
    path: string,
    options: { readonly body?: string; readonly headers?: Record<string, string> } = {}
  ) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const answer = yield* wire(method, path, {
      ...options,
      headers: { ...(cookie === "" ? {} : { cookie }), ...options.headers }
    })
    for (const line of answer.headers["set-cookie"] ?? []) {
      set.push(line)
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/; max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  })

  return {
    cookies,
    /** Every `Set-Cookie` that came, as it came. */
    set,
    get: (path: string, headers: Record<string, string> = {}) => send("GET", path, { headers }),
    post: (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      send("POST", path, {
        body: new URLSearchParams(fields).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", ...headers }
      })
  }
}

type Visitor = ReturnType<typeof newVisitor>

export const returnTo = "/authorize?client_id=a&redirect_uri=http%3A%2F%2F127.0.0.1%3A57470%2Fcb&state=x%27y"

/** Types an address into the first page of the sign-in. */
export const askForCode = (visitor: Visitor, email: string, to = returnTo, headers: Record<string, string> = {}) =>
  visitor.post("/sign-in/email", { return_to: to, email }, headers)

/** The next mail's link and code. */
export const nextMail = Effect.gen(function* () {
  const { text, to } = yield* (yield* Outbox).next
  return { to, token: /token=([\w-]+)/.exec(text)![1]!, code: /^([0-9]{6})$/m.exec(text)![1]! }
})

/** A code that is surely not this one. */
export const wrong = (code: string, step = 1) => String((Number(code) + step) % 1_000_000).padStart(6, "0")

/** The value of a page's field. */
export const fieldOf = (page: WireAnswer, name: string): string | undefined =>
  new RegExp(`<input[^>]* name="${name}"[^>]* value="([^"]*)"`)
    .exec(page.text)?.[1]
    ?.replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")

let people = 0
/** An address that nobody else has. */
export const newEmail = () => `person${people++}@example.com`

/** The names of the cookies that a public service sets. */
export const session = "__Host-agent_memory_session"
export const attempt = "__Host-agent_memory_sign_in"

/** Asserts what every page for one person alone has, and these texts. */
export const assertPage = (answer: WireAnswer, status: number, ...texts: ReadonlyArray<string>) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.include(answer.headers["content-type"], "text/html")
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  assert.include(answer.headers["content-security-policy"], "frame-ancestors 'none'")
  for (const text of texts) assert.include(answer.text, text)
}

/** Asserts that the browser is sent on. */
export const assertSeeOther = (answer: WireAnswer, location: string) => {
  assert.strictEqual(answer.status, 303, answer.text)
  assert.strictEqual(answer.headers["location"], location)
  assert.strictEqual(answer.headers["cache-control"], "no-store")
}

/** Whom a browser is signed in as. */
export const signedInAs = Effect.fnUntraced(function* (visitor: Visitor) {
  const found = yield* (yield* Sessions).find(visitor.cookies.get(session) ?? "")
  return found._tag === "Some" ? found.value.email : undefined
})

/** A browser that waits for the code, and the mail. */
export const begun = Effect.fnUntraced(function* (email = newEmail()) {
  const visitor = newVisitor()
  assertSeeOther(yield* askForCode(visitor, email), "/sign-in/code")
  return { visitor, email, ...(yield* nextMail) }
})
