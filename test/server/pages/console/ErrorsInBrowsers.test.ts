import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newPerson } from "../../../support/OAuth.ts"
import { request, serviceLayer } from "../../../support/TestService.ts"

const browser = { accept: "text/html,*/*;q=0.8" }

layer(serviceLayer(), { excludeTestServices: true })("A browser", (it) => {
  it.effect("gets a page where an address takes another method, and a program a problem", () =>
    Effect.gen(function* () {
      const page = yield* request("GET", "/sign-out", { headers: browser })
      assert.strictEqual(page.status, 405)
      assert.strictEqual(page.headers.get("allow"), "POST, OPTIONS")
      assert.include(page.text, "<h1>This address shows no page</h1>")
      const problem = yield* request("GET", "/sign-out")
      assert.strictEqual(problem.headers.get("content-type"), "application/problem+json")
    })
  )

  it.effect("gets problems below /v1", () =>
    Effect.gen(function* () {
      for (const [method, path] of [
        ["PUT", "/v1/notes"],
        ["GET", "/v1/_nothing"]
      ] as const) {
        const answer = yield* request(method, path, { headers: browser })
        assert.strictEqual(answer.headers.get("content-type"), "application/problem+json", path)
      }
    })
  )

  it.effect("that is signed in sees so in the header of public pages, and another one does not", () =>
    Effect.gen(function* () {
      const { cookie } = yield* newPerson
      const nav = (text: string) => /<nav aria-label="Site">(.*?)<\/nav>/s.exec(text)?.[1] ?? ""
      const mine = yield* request("GET", "/docs", { headers: { cookie } })
      assert.include(nav(mine.text), ">Account</a>")
      assert.include(nav(mine.text), 'href="/docs" aria-current="page"')
      const others = yield* request("GET", "/docs")
      assert.include(nav(others.text), ">Sign in</a>")
      assert.notStrictEqual(mine.headers.get("etag"), others.headers.get("etag"))
      for (const { headers } of [mine, others]) assert.include(headers.get("vary") ?? "", "cookie")
    })
  )
})
