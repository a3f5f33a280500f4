import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newPerson } from "../../support/OAuth.ts"
import { request, serviceLayer } from "../../support/TestService.ts"

const limits = { LIMIT_PERSON_READS_PER_MINUTE: "3", LIMIT_PERSON_WRITES_PER_MINUTE: "2", LIMIT_READS_PER_MINUTE: "5" }

layer(serviceLayer(limits), { excludeTestServices: true })("A signed-in person", (it) => {
  it.effect("has requests apart from those of the keys, and from those of anybody else", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* newPerson, yield* newPerson]
      const open = (cookie: string) => request("GET", "/account", { headers: { cookie } })
      for (let times = 0; times < 5; times++) {
        assert.strictEqual((yield* request("GET", "/v1/_tables", { key: ada.apiKey })).status, 200)
      }
      for (let times = 0; times < 3; times++) assert.strictEqual((yield* open(ada.cookie)).status, 200)
      const refused = yield* open(ada.cookie)
      assert.strictEqual(refused.status, 429)
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
      assert.include(refused.text, "A person can make 3 reads a minute here.")
      assert.strictEqual((yield* open(bob.cookie)).status, 200)
    })
  )

  it.effect("has writes of their own, which a form without its proof spends too", () =>
    Effect.gen(function* () {
      const { cookie } = yield* newPerson
      const statuses = yield* Effect.forEach([1, 2, 3], () =>
        request("POST", "/apps", {
          headers: { cookie, "sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded" },
          body: "id=x"
        })
      )
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        [403, 403, 429]
      )
    })
  )
})
