import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Routes } from "../../../../src/server/doors/Routes.ts"
import { request, serviceLayer } from "../../../support/TestService.ts"
import { newOwner } from "./Person.ts"

/** The forms of an account's pages. */
const isConsole = (path: string) => /^\/(?:tables|apps|keys|account|activity|sign-out)(?:\/|$)/.test(path)

layer(serviceLayer(), { excludeTestServices: true, timeout: 60_000 })("P46 The console", (it) => {
  it.effect("changes nothing without session, origin and form token", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* newOwner, yield* newOwner]
      const { id } = yield* owner.add("notes", '{"a":1}')
      const before = yield* request("GET", "/v1/_export", { key: owner.apiKey })
      const forms = (yield* Routes).all().filter(({ method, path }) => method === "POST" && isConsole(path))
      assert.isAbove(forms.length, 9)
      for (const { path } of forms) {
        const address = path.replace(":table", "notes").replace(":id", id)
        const fields = { id, name: "x", row: "{}", do: "delete-now", version: "1", field: "a", text: "" }
        const post = (changed: { readonly proof?: string; readonly headers?: object }) =>
          (path.endsWith("/_import") ? owner.upload : owner.post)(
            address,
            { ...fields, ...(changed.proof === undefined ? {} : { proof: changed.proof }) },
            changed.headers
          )
        const refused = {
          "without a proof": yield* post({ proof: "" }),
          "with the proof of somebody else": yield* post({ proof: other.proof }),
          "of another site": yield* post({ headers: { "sec-fetch-site": "cross-site" } }),
          "of a site beside this one": yield* post({ headers: { "sec-fetch-site": "same-site" } }),
          "of nobody knows where": yield* post({ headers: { "sec-fetch-site": "" } }),
          "with another origin": yield* post({ headers: { origin: "https://evil.example" } }),
          "with a hidden origin": yield* post({ headers: { origin: "null" } })
        }
        for (const [how, answer] of Object.entries(refused)) assert.strictEqual(answer.status, 403, `${path} ${how}`)
        assert.strictEqual((yield* post({ headers: { cookie: "" } })).status, 401, path)
      }
      const after = yield* request("GET", "/v1/_export", { key: owner.apiKey })
      assert.strictEqual(after.text, before.text)
      assert.strictEqual((yield* owner.get("/account")).status, 200)
    })
  )

  it.effect("leads whoever is not signed in to the sign-in, and back", () =>
    Effect.gen(function* () {
      const pages = (yield* Routes).all().filter(({ method, path }) => method === "GET" && isConsole(path))
      for (const { path } of pages) {
        const address = `${path.replace(":table", "notes").replace(":id", "x")}?sort=a`
        const answer = yield* request("GET", address)
        assert.strictEqual(answer.status, 303, path)
        assert.strictEqual(answer.headers.get("location"), `/sign-in?return_to=${encodeURIComponent(address)}`)
      }
    })
  )

  it.effect("has nothing at another account's addresses", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* newOwner, yield* newOwner]
      const { id } = yield* owner.add("secrets", '{"a":"s3cret"}')
      yield* other.add("mine", '{"b":1}')
      for (const path of [
        "",
        "/_export",
        `/${id}`,
        `/${id}?view=history`,
        `/${id}/_text?field=a`,
        `/${id}/_download`
      ]) {
        const answer = yield* other.get(`/tables/secrets${path}`)
        assert.strictEqual(answer.status, 404, path)
        assert.notInclude(answer.text, "s3cret")
        assert.strictEqual((yield* other.get(`/tables/mine/${id}`)).status, 404)
      }
      for (const path of ["", "/_json", "/_delete", "/_duplicate", "/_restore", "/_text", "/_merge"]) {
        const answer = yield* other.post(`/tables/secrets/${id}${path}`, { version: "1", row: "{}", field: "a" })
        assert.strictEqual(answer.status, 404, path)
      }
      assert.strictEqual(yield* owner.row("secrets", id), '"a":"s3cret"')
    })
  )
})
