import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { setClock } from "../../../support/Database.ts"
import { request, serviceLayer } from "../../../support/TestService.ts"
import { newOwner } from "./Person.ts"

layer(serviceLayer({ LIMIT_ACTIVE_KEYS: "3" }), { excludeTestServices: true })("The page of API keys", (it) => {
  it.effect("creates a key, shows it once with the line for .env, and revokes it", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const created = yield* owner.post("/keys", { name: "shop <b>" })
      assert.strictEqual(created.headers.get("cache-control"), "no-store")
      const key = /AGENT_MEMORY_API_KEY=(svc_live_\w+)/.exec(created.text)?.[1] ?? ""
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key })).status, 200)
      const page = yield* owner.get("/keys")
      assert.notInclude(page.text, key)
      assert.include(page.text, "shop &lt;b&gt;")
      const id = /name="id" value="([^"]+)"/.exec(page.text)?.[1] ?? ""
      assert.strictEqual((yield* owner.post("/keys/_revoke", { id })).headers.get("location"), "/keys?revoked=1")
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key })).status, 401)
      assert.strictEqual((yield* owner.post("/keys/_revoke", { id })).headers.get("location"), "/keys?revoked=0")
    })
  )

  it.effect("keeps a name that is refused, and says why, at the limit of keys too", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const long = yield* owner.post("/keys", { name: "n".repeat(81) })
      assert.strictEqual(long.status, 400)
      assert.include(long.text, "Enter a name of 1 to 80 characters.")
      for (const name of ["two", "three"]) assert.strictEqual((yield* owner.post("/keys", { name })).status, 200)
      const full = yield* owner.post("/keys", { name: "four" })
      assert.strictEqual(full.status, 400)
      assert.include(full.text, 'value="four"')
      assert.include(full.text, "At most 3")
    })
  )

  it.effect("asks for a fresh code where the sign-in is more than an hour old", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      yield* setClock("61 minutes")
      const asked = yield* owner.post("/keys", { name: "later" })
      yield* setClock("0 minutes")
      assert.strictEqual(asked.status, 403)
      assert.include(asked.text, "Confirm that it’s you")
      assert.include(asked.text, 'action="/sign-in/email"')
      assert.notInclude((yield* owner.get("/keys")).text, "later")
    })
  )

  it.effect("revokes nobody else's key", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* newOwner, yield* newOwner]
      const id = /name="id" value="([^"]+)"/.exec((yield* owner.get("/keys")).text)?.[1] ?? ""
      assert.strictEqual((yield* other.post("/keys/_revoke", { id })).headers.get("location"), "/keys?revoked=0")
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key: owner.apiKey })).status, 200)
    })
  )
})
