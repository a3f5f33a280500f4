import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Email } from "../../../../src/domain/Account.ts"
import { Sessions } from "../../../../src/server/accounts/browser/Sessions.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../../../support/Database.ts"
import { makeProxy, type DatabaseProxy } from "../../../support/DatabaseProxy.ts"
import { callTool } from "../../../support/Mcp.ts"
import { callMcp, connect, hiddenField, newClient, newPerson, postForm, type Person } from "../../../support/OAuth.ts"
import { request, serviceLayer, serviceOn, type Answer } from "../../../support/TestService.ts"

const suite = layer(serviceLayer(), { excludeTestServices: true, timeout: 60_000 })

const open = (person: Person, query = "") => request("GET", `/apps${query}`, { headers: { cookie: person.cookie } })

/** What the forms of a person's pages hold. */
const proofOf = (person: Person) =>
  Effect.map(request("GET", "/account", { headers: { cookie: person.cookie } }), (page) => hiddenField(page, "proof"))

const send = (person: Person, path: string, fields: Readonly<Record<string, string>>, headers = {}) =>
  postForm(path, fields, { cookie: person.cookie, "sec-fetch-site": "same-origin", ...headers })

const isSignIn = ({ headers, status }: Answer): boolean =>
  status === 303 && headers.get("location") === "/sign-in?return_to=%2Fapps"

suite("The page of connected apps", (it) => {
  it.effect("is shown to nobody but who is signed in", () =>
    Effect.gen(function* () {
      const person = yield* newPerson
      const name = person.cookie.split("=", 1)[0]!
      for (const cookie of ["", `${name}=x`, `${name}=${person.accountId}_${"b".repeat(43)}`]) {
        const answer = yield* request("GET", "/apps", { headers: { cookie } })
        assert.isTrue(isSignIn(answer), cookie)
      }
      const answer = yield* open(person)
      assert.include(answer.text, `<strong>${person.email}</strong>`)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
    })
  )

  it.effect("lets its person name an app, and change what its next call may do", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* newPerson, yield* newPerson]
      const { access_token } = yield* connect(ada, yield* newClient({ client_name: "App" }))
      const page = yield* open(ada)
      const id = /href="\/apps\/([^"]+)"/.exec(page.text)![1]!
      const fields = { proof: hiddenField(page, "proof"), name: "Laptop", access: "tables", other_tables: "notes" }
      const refused = yield* send(ada, `/apps/${id}`, { ...fields, name: "", other_tables: "1" })
      assert.strictEqual(refused.status, 400)
      const foreign = yield* send(bob, `/apps/${id}`, { ...fields, proof: yield* proofOf(bob) })
      assert.strictEqual(foreign.status, 404)

      yield* callTool(access_token, "add", { table: "other", row: { a: 1 } })
      const saved = yield* send(ada, `/apps/${id}`, fields)
      assert.strictEqual(saved.headers.get("location"), "/apps?done=saved")
      const after = yield* open(ada, "?done=saved")
      assert.include(after.text, "Laptop")
      assert.include(after.text, "Only <code>notes</code>")
      const listed = yield* callTool(access_token, "list_tables", {})
      assert.notInclude(JSON.stringify(listed), "other")
      yield* callTool(access_token, "add", { table: "notes", row: { a: 1 } })
      const activity = yield* request("GET", `/activity?by=${id}`, { headers: { cookie: ada.cookie } })
      assert.include(activity.text, "Laptop")
      const tables = yield* request("GET", "/tables", { headers: { cookie: ada.cookie } })
      assert.match(tables.text, /notes<\/a>.*by the app.*Laptop/)
    })
  )

  it.effect("shows a person their own apps alone, and disconnects one", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* newPerson, yield* newPerson]
      const mine = yield* newClient({ client_name: "Ada’s app" })
      const tokens = yield* connect(ada, mine)
      yield* connect(bob, yield* newClient({ client_name: "Bob’s app" }))

      const page = yield* open(ada)
      assert.include(page.text, "Ada’s app")
      assert.notInclude(page.text, "Bob’s app")
      assert.notInclude(page.text, 'role="status"')

      const fields = { proof: hiddenField(page, "proof"), id: hiddenField(page, "id") }
      const answer = yield* send(ada, "/apps", fields)
      assert.strictEqual(answer.status, 303)
      assert.strictEqual(answer.headers.get("location"), "/apps?disconnected=1")
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 401)

      assert.notInclude((yield* open(ada, "?done=constructor")).text, 'role="status"')
      const after = yield* open(ada, "?disconnected=1")
      assert.notInclude(after.text, "Ada’s app")
      assert.include(after.text, "The app is disconnected. Its next call is refused")
      const again = yield* send(ada, "/apps", fields)
      assert.strictEqual(again.headers.get("location"), "/apps?disconnected=0")
    })
  )

  it.effect("P25 disconnects nobody else's app", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* newPerson, yield* newPerson]
      const tokens = yield* connect(ada, yield* newClient())
      const id = hiddenField(yield* open(ada), "id")
      const proof = yield* proofOf(bob)
      const answer = yield* send(bob, "/apps", { proof, id })
      assert.strictEqual(answer.headers.get("location"), "/apps?disconnected=0")
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 200)
    })
  )

  it.effect("signs all other browsers of the account out, and nobody else's", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* newPerson, yield* newPerson]
      const elsewhere = yield* (yield* Sessions).open(ada.accountId, Email.make(ada.email))
      const other = { ...ada, cookie: `agent_memory_session=${elsewhere.token}` }
      const account = yield* request("GET", "/account", { headers: { cookie: ada.cookie } })
      assert.strictEqual(account.text.split("This browser").length, 2)
      const proof = yield* proofOf(ada)
      const answer = yield* send(ada, "/sign-out", { proof, others: "1" })
      assert.strictEqual(answer.headers.get("location"), "/account?others=out")
      assert.isTrue(isSignIn(yield* open(other)))
      for (const person of [ada, bob]) assert.strictEqual((yield* open(person)).status, 200)
    })
  )

  it.effect("follows only its own forms, sent from its own site", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* newPerson, yield* newPerson]
      yield* connect(ada, yield* newClient())
      const page = yield* open(ada)
      const [proof, id] = [hiddenField(page, "proof"), hiddenField(page, "id")]
      const foreign = yield* proofOf(bob)
      for (const path of ["/apps", "/sign-out"]) {
        for (const fields of [{ id }, { id, proof: "" }, { id, proof: foreign }, { id, proof: `${proof}x` }]) {
          assert.strictEqual((yield* send(ada, path, fields)).status, 403, JSON.stringify(fields))
        }
        for (const site of ["cross-site", "same-site"]) {
          const answer = yield* send(ada, path, { id, proof }, { "sec-fetch-site": site })
          assert.strictEqual(answer.status, 403, site)
          assert.include(answer.text, "Nothing was changed")
        }
        const unknown = { "sec-fetch-site": "" }
        assert.strictEqual((yield* send(ada, path, { id, proof }, unknown)).status, 403)
        const json = { "content-type": "application/json" }
        assert.strictEqual((yield* send(ada, path, { id, proof }, json)).status, 415)
      }
      assert.include((yield* open(ada)).text, id)
    })
  )

  it.effect("asks who was signed out meanwhile to sign in again, and changes nothing", () =>
    Effect.gen(function* () {
      const ada = yield* newPerson
      const tokens = yield* connect(ada, yield* newClient())
      const page = yield* open(ada)
      const fields = { proof: hiddenField(page, "proof"), id: hiddenField(page, "id") }
      assert.strictEqual((yield* send(ada, "/sign-out", fields)).status, 303)
      const answer = yield* send(ada, "/apps", fields)
      assert.strictEqual(answer.status, 401)
      assert.include(answer.text, "You were signed out")
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 200)
    })
  )

  it.effect("signs out: the cookie goes, and opens nothing if it was kept", () =>
    Effect.gen(function* () {
      const ada = yield* newPerson
      const answer = yield* send(ada, "/sign-out", { proof: yield* proofOf(ada) })
      assert.strictEqual(answer.status, 303)
      assert.strictEqual(answer.headers.get("location"), "/")
      assert.match(answer.headers.get("set-cookie") ?? "", /Max-Age=0/i)
      assert.isTrue(isSignIn(yield* open(ada)))
    })
  )
})

class Network extends Context.Service<Network, DatabaseProxy>()("agent-memory/test/server/pages/Network") {}

const BehindNetwork = Layer.effectContext(
  Effect.gen(function* () {
    const { url } = yield* DatabaseUrl
    const proxy = yield* makeProxy(url)
    const client = yield* poolOf(proxy.url)
    return Context.make(SqlClient.SqlClient, client as SqlClient.SqlClient).pipe(Context.add(Network, proxy))
  })
)

layer(serviceOn(BehindNetwork.pipe(Layer.provideMerge(DatabaseLayer))), { excludeTestServices: true })(
  "The page of connected apps without a database",
  (it) => {
    it.effect("asks to try again, and signs nobody out", () =>
      Effect.gen(function* () {
        const person = yield* newPerson
        const proof = yield* proofOf(person)
        const network = yield* Network
        yield* Effect.addFinalizer(() => network.resume)
        yield* network.stall
        const answers = yield* Effect.all(
          [open(person), send(person, "/apps", { proof, id: "x" }), send(person, "/sign-out", { proof })],
          { concurrency: "unbounded" }
        )
        for (const answer of answers) {
          assert.strictEqual(answer.status, 503)
          assert.strictEqual(answer.headers.get("retry-after"), "1")
          assert.isNull(answer.headers.get("set-cookie"))
          assert.include(answer.text, "Nothing was changed")
        }
        assert.include(answers[0]?.text, '<a class="button primary" href="/apps">Try again</a>')
      })
    )
  }
)
