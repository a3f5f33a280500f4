import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { startAuthorization } from "@modelcontextprotocol/client"
import { startAuthorization as startAuthorization1 } from "@modelcontextprotocol/sdk/client/auth.js"
import {
  answerOf,
  authorizeQuery,
  callback,
  decide,
  hiddenField,
  newClient,
  newPerson,
  openAuthorize,
  pkce
} from "../../support/OAuth.ts"
import { head, opened, untilClosed } from "../../support/RawConnections.ts"
import { serviceLayer, type Answer } from "../../support/TestService.ts"

const { challenge } = pkce()

const states = ["the state", "1+1 = 2", " ", "+", "a+b", "~a*b!(c)'d", '{"a":"b+c d"}', "ä+ö ü", "100 %+"]

/** The pairs of a query as a client spells them. */
interface Spelling {
  readonly write: (value: string) => string
  readonly read: (value: string) => string
}

const decodeForm = (value: string): string => decodeURIComponent(value.replaceAll("+", "%20"))

const form: Spelling = { write: (value) => new URLSearchParams({ value }).toString().slice(6), read: decodeForm }
const spellings: Readonly<Record<string, Spelling>> = {
  "a form": form,
  "a form that leaves a tilde": { write: (value) => form.write(value).replaceAll("%7E", "~"), read: decodeForm },
  "a form that leaves colons and commas": {
    write: (value) =>
      encodeURIComponent(value)
        .replace(/%(?:3A|2C|24)/g, decodeURIComponent)
        .replaceAll("%20", "+"),
    read: decodeForm
  },
  "escapes alone": { write: encodeURIComponent, read: decodeURIComponent },
  "escapes, read as a form": { write: encodeURIComponent, read: decodeForm },
  "escapes and a raw plus": {
    write: (value) => encodeURIComponent(value).replaceAll("%2B", "+"),
    read: decodeURIComponent
  }
}

const rawState = (answer: Answer): string => {
  assert.strictEqual(answer.status, 303, answer.text)
  return /[?&]state=([^&]*)/.exec(answer.headers.get("location") ?? "")?.[1] ?? ""
}

layer(serviceLayer(), { excludeTestServices: true })("The state of a request to /authorize", (it) => {
  it.effect("31 comes back as what the client wrote, by whichever rule it writes and reads", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const person = yield* newPerson
      const others = authorizeQuery(client, challenge, { state: undefined })
      for (const [name, { read, write }] of Object.entries(spellings)) {
        for (const state of states) {
          const query = `${others}&state=${write(state)}`
          for (const answer of [
            yield* decide(person, query),
            yield* decide(person, query, { decision: "deny" }),
            yield* openAuthorize(`${query}&response_mode=fragment`)
          ]) {
            assert.strictEqual(read(rawState(answer)), state, `${name}: ${query}`)
          }
        }
      }
    })
  )

  it.effect("31 comes back to the official clients with its blanks and pluses", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const person = yield* newPerson
      for (const start of [startAuthorization, startAuthorization1]) {
        for (const state of states) {
          const { authorizationUrl } = yield* Effect.promise(() =>
            start("http://localhost:3000", {
              clientInformation: client,
              redirectUrl: callback,
              scope: "agent-memory offline_access",
              state
            })
          )
          const answer = yield* decide(person, authorizationUrl.search.slice(1))
          assert.strictEqual(answerOf(answer).get("state"), state)
        }
      }
    })
  )

  it.effect("31 that is base64 as it is keeps its pluses for clients that read forms, and so does the address", () =>
    Effect.gen(function* () {
      const redirect_uri = "http://127.0.0.1/cb?a=1+2"
      const client = yield* newClient({ redirect_uris: [redirect_uri] })
      const person = yield* newPerson
      const plain = authorizeQuery(client, challenge, { redirect_uri: undefined, state: undefined })
      for (const state of ["wXy+abc==", "wXy+ab/c"]) {
        const query = `${plain}&redirect_uri=http://127.0.0.1/cb?a=1+2&state=${state}`
        const answer = yield* decide(person, query)
        const location = answer.headers.get("location") ?? ""
        assert.isTrue(location.startsWith(`${redirect_uri}&`), location)
        assert.strictEqual(answerOf(answer).get("state"), state)
        assert.strictEqual(decodeURIComponent(rawState(answer)), state)
      }
    })
  )

  it.effect("31 is in the sign-in and in the form as it was written, and a browser spells neither anew", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const { cookie } = yield* newPerson
      const query = `${authorizeQuery(client, challenge, { state: undefined })}&state=a+b%2Bc%20d'[1]%7e`
      const path = hiddenField(yield* openAuthorize(query), "return_to").replaceAll("&amp;", "&")
      assert.match(path, /&state=a\+b%2Bc%20d%27%5B1%5D%7e$/)
      const page = yield* openAuthorize(query, cookie)
      const action = (/<form method="post" action="([^"]*)"/.exec(page.text)?.[1] ?? "").replaceAll("&amp;", "&")
      assert.strictEqual(action, path)
      const { pathname, search } = new URL(action, "http://localhost:3000")
      assert.strictEqual(pathname + search, action)
    })
  )

  it.effect("31 may hold characters that no address may: they come back escaped", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const query = authorizeQuery(client, challenge, { state: undefined, response_type: "token" })
      const socket = yield* opened(head("GET", `/authorize?${query}&state=a+100%|{b}^\``, { Connection: "close" }))
      const answer = yield* untilClosed(socket)
      assert.match(answer, /^HTTP\/1\.1 303/)
      assert.match(answer, /^location: .*&state=a\+100%25%7C%7Bb%7D%5E%60\r$/im)
    })
  )
})
