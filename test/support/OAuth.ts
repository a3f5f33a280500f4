import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { Email, type AccountId } from "../../src/domain/Account.ts"
import { Sessions } from "../../src/server/accounts/browser/Sessions.ts"
import { bodyOf, newAccount, request, type Answer } from "./TestService.ts"

/** Where the clients of these tests are answered; nothing listens there. */
export const callback = "http://127.0.0.1/callback"

/** A client as it is after its registration. */
export interface TestClient {
  readonly client_id: string
  readonly client_secret?: string
}

/** Registers a public client that returns to {@link callback}, unless told otherwise. */
export const newClient = Effect.fnUntraced(function* (metadata: object = {}) {
  const body = JSON.stringify({
    client_name: "Test client",
    redirect_uris: [callback],
    token_endpoint_auth_method: "none",
    ...metadata
  })
  const answer = yield* request("POST", "/register", { body })
  assert.strictEqual(answer.status, 201, answer.text)
  return bodyOf<TestClient & Record<string, unknown>>(answer)
})

/** A person in a browser that is signed in to a new account. */
export interface Person {
  readonly accountId: AccountId
  readonly apiKey: string
  readonly email: string
  readonly cookie: string
}

/** Signs a browser in to a new account. */
export const newPerson = Effect.gen(function* () {
  const { accountId, apiKey } = yield* newAccount
  const email = Email.make(`p${randomBytes(6).toString("hex")}@example.com`)
  const session = yield* (yield* Sessions).open(accountId, email)
  return { accountId, apiKey, email, cookie: `agent_memory_session=${session.token}` } satisfies Person
})

/** A code verifier and its challenge (RFC 7636). */
export const pkce = () => {
  const verifier = randomBytes(32).toString("base64url")
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") }
}

/** The query of a request to /authorize; members that are undefined are left out. */
export const authorizeQuery = (
  client: TestClient,
  challenge: string,
  changes: Readonly<Record<string, string | undefined>> = {}
): string => {
  const query = new URLSearchParams()
  const all = {
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: callback,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "a state",
    ...changes
  }
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, value)
  return query.toString().replaceAll("+", "%20")
}

/** Opens /authorize in a browser, which is signed in if it has a cookie. */
export const openAuthorize = (query: string, cookie?: string) =>
  request("GET", `/authorize?${query}`, { headers: cookie === undefined ? {} : { cookie } })

/** Sends a form as a browser does. */
export const postForm = (
  path: string,
  fields: Readonly<Record<string, string>> | URLSearchParams,
  headers: Readonly<Record<string, string>> = {}
) =>
  request("POST", path, {
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers }
  })

/** The value of a hidden field of a page. */
export const hiddenField = (answer: Answer, name: string): string => {
  const found = new RegExp(`name="${name}" value="([^"]*)"`).exec(answer.text)?.[1]
  assert.isDefined(found, `no field ${name} in ${answer.status} ${answer.text.slice(0, 2000)}`)
  return found!
}

/** Agrees on the consent page, or answers it with other fields. */
export const decide = Effect.fnUntraced(function* (
  person: Person,
  query: string,
  fields: Readonly<Record<string, string>> | URLSearchParams = { decision: "allow", access: "full" }
) {
  const page = yield* openAuthorize(query, person.cookie)
  const form = new URLSearchParams(fields)
  form.set("proof", hiddenField(page, "proof"))
  return yield* postForm(`/authorize?${query}`, form, { cookie: person.cookie })
})

/** The parameters of an answer that goes back to a client. */
export const answerOf = (answer: Answer): URLSearchParams => {
  assert.strictEqual(answer.status, 303, answer.text)
  return new URL(answer.headers.get("location") ?? "").searchParams
}

/** A code that a person allowed a client, with the verifier it was asked for with. */
export const newCode = Effect.fnUntraced(function* (
  person: Person,
  client: TestClient,
  changes: Readonly<Record<string, string | undefined>> = {},
  fields?: Readonly<Record<string, string>> | URLSearchParams
) {
  const { challenge, verifier } = pkce()
  const answer = yield* decide(person, authorizeQuery(client, challenge, changes), fields)
  const code = answerOf(answer).get("code")
  assert.isNotNull(code, answer.headers.get("location") ?? "")
  return { code: code!, verifier }
})

/** What a client sends to exchange a code; members that are undefined are left out. */
export const exchange = (
  client: TestClient,
  { code, verifier }: { readonly code: string; readonly verifier: string },
  changes: Readonly<Record<string, string | undefined>> = {},
  headers: Readonly<Record<string, string>> = {}
) =>
  postForm(
    "/token",
    present({
      grant_type: "authorization_code",
      client_id: client.client_id,
      code,
      code_verifier: verifier,
      redirect_uri: callback,
      ...changes
    }),
    headers
  )

/** What a client sends to refresh its tokens. */
export const refresh = (
  client: TestClient,
  refreshToken: string,
  changes: Readonly<Record<string, string | undefined>> = {}
) =>
  postForm(
    "/token",
    present({ grant_type: "refresh_token", client_id: client.client_id, refresh_token: refreshToken, ...changes })
  )

const present = (fields: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

/** The answer of the token endpoint to a client that gets tokens. */
export interface TokenSet {
  readonly access_token: string
  readonly refresh_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly scope: string
}

/** The tokens of an answer that must have some. */
export const tokensOf = (answer: Answer): TokenSet => {
  assert.strictEqual(answer.status, 200, answer.text)
  return bodyOf<TokenSet>(answer)
}

/** A client that a person let in, with its first tokens. */
export const connect = Effect.fnUntraced(function* (
  person: Person,
  client: TestClient,
  fields?: Readonly<Record<string, string>> | URLSearchParams
) {
  return tokensOf(yield* exchange(client, yield* newCode(person, client, {}, fields)))
})

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

/** A message to /mcp. */
export const callMcp = (
  token: string | undefined,
  {
    body = ping,
    headers = {},
    method = "POST",
    path = "/mcp"
  }: { method?: string; path?: string; body?: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> } = {}
) =>
  request(method, path, {
    ...(method === "POST" ? { body } : {}),
    headers: {
      accept: "application/json, text/event-stream",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers
    }
  })

/** A refusal of an OAuth endpoint (RFC 6749 section 5.2). */
export const assertRefused = (answer: Answer, status: number, error: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(answer.headers.get("content-type"), "application/json")
  assert.strictEqual(answer.headers.get("cache-control"), "no-store")
  assert.strictEqual(bodyOf(answer)["error"], error, answer.text)
  assert.isNotEmpty(bodyOf(answer)["error_description"])
}
