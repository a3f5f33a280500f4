import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { asset } from "../../../src/server/pages/Assets.ts"
import { request, serviceLayer } from "../../support/TestService.ts"

layer(serviceLayer(), { excludeTestServices: true, timeout: 60_000 })("Assets", (it) => {
  it.effect("are kept by browsers for good, under a name that changes with the content", () =>
    Effect.gen(function* () {
      assert.match(asset("site.css"), /^\/assets\/site-[A-Z0-9]{8}\.css$/)
      const answer = yield* request("GET", asset("site.css"))
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "text/css; charset=utf-8")
      assert.strictEqual(answer.headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
    })
  )

  it.effect("come compressed to whoever reads that, and say the same", () =>
    Effect.gen(function* () {
      const forms = []
      for (const coding of ["identity", "gzip", "br", "br;q=0, gzip", "br;q=0"]) {
        const answer = yield* request("GET", asset("site.css"), { headers: { "accept-encoding": coding } })
        forms.push({
          coding: answer.headers.get("content-encoding"),
          text: answer.text,
          vary: answer.headers.get("vary")
        })
      }
      assert.deepStrictEqual(
        forms.map(({ coding }) => coding),
        [null, "gzip", "br", "gzip", null]
      )
      assert.strictEqual(new Set(forms.map(({ text }) => text)).size, 1)
      assert.isTrue(forms.every(({ vary }) => vary === "accept-encoding"))
    })
  )

  it.effect("are not sent again to whoever has them", () =>
    Effect.gen(function* () {
      const etag = (yield* request("GET", asset("site.js"))).headers.get("etag") ?? ""
      const again = yield* request("GET", asset("site.js"), { headers: { "if-none-match": `"other", W/${etag}` } })
      assert.strictEqual(again.status, 304)
      assert.strictEqual(again.text, "")
      assert.strictEqual(
        (yield* request("GET", asset("site.js"), { headers: { "if-none-match": '"other"' } })).status,
        200
      )
    })
  )

  it.effect("answer HEAD with the headers alone", () =>
    Effect.gen(function* () {
      const plain = { "accept-encoding": "identity" }
      const got = yield* request("GET", asset("site.css"), { headers: plain })
      const head = yield* request("HEAD", asset("site.css"), { headers: plain })
      assert.strictEqual(head.status, 200)
      assert.strictEqual(head.text, "")
      for (const name of ["content-type", "content-length", "etag"]) {
        assert.strictEqual(head.headers.get(name), got.headers.get(name), name)
      }
    })
  )

  it.effect("are the listed files alone", () =>
    Effect.gen(function* () {
      for (const name of [
        "unknown.js",
        "manifest.json",
        "documents.json",
        "..%2Fmain.js",
        "%2e%2e%2fmain.js",
        `${asset("site.css").slice(8)}.br`
      ]) {
        const answer = yield* request("GET", `/assets/${name}`)
        assert.strictEqual(answer.status, 404, name)
        assert.strictEqual(answer.headers.get("content-type"), "application/problem+json", name)
      }
    })
  )
})
