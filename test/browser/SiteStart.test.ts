import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/server/accounts/Accounts.ts"
import { Browser, browserSuite } from "../support/Browser.ts"
import { BaseUrl, localSecret, newAccount, request, serviceLayer } from "../support/TestService.ts"

const run = <A>(step: () => Promise<A>) => Effect.promise(step)

browserSuite("A first visit", serviceLayer(), (it) => {
  it.effect("goes from the front page to a stored and queried row", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { complaints, page } = yield* (yield* Browser).visit()
      const secret = yield* localSecret
      yield* run(() => page.goto(`${url}/?local=${secret}`))
      yield* run(() => page.getByLabel("Your e-mail address").fill("ada@example.com"))
      yield* run(() => page.getByRole("button", { name: "Mail me a key" }).click())
      yield* run(() => page.getByLabel("A row for the table notes").fill('{"text":"<b>hello</b>","n":1.10}'))
      yield* run(() => page.getByRole("button", { name: "Add the row" }).click())
      yield* run(() => page.getByText("201 in").waitFor())
      yield* run(() => page.getByRole("button", { name: "Query the table" }).click())
      const answer = page.locator("#terminal .answer").last()
      yield* run(() =>
        answer.filter({ hasText: '"text":"<b>hello</b>","n":1.10' }).filter({ hasText: "has_more" }).waitFor()
      )
      // Links lead to the configured address, which this service does not listen on.
      const configured = "http://localhost:3000"
      yield* run(() =>
        page.context().route(`${configured}/**`, async (route) => {
          const response = await route.fetch({ url: route.request().url().replace(configured, url) })
          return route.fulfill({ response })
        })
      )
      const editor = yield* run(async () => {
        const opened = page.waitForEvent("popup")
        await page.getByRole("button", { name: "Open it in the editor" }).click()
        return opened
      })
      yield* run(() => editor.locator("#viewer[data-ready]").waitFor())
      yield* run(() => editor.getByText("1.10", { exact: true }).waitFor())
      const shown = yield* run(() => page.content())
      assert.notMatch(shown, /svc_live_[a-z0-9]{4}[a-z0-9]/)
      assert.deepStrictEqual(complaints, [])
      assert.strictEqual(yield* run(() => page.evaluate("localStorage.length + sessionStorage.length")), 0)
    })
  )

  it.effect("takes a key that is pasted, and says so when it is wrong", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { apiKey } = yield* newAccount
      const { page } = yield* (yield* Browser).visit()
      yield* run(() => page.goto(url))
      yield* run(() => page.getByRole("button", { name: "Paste it" }).click())
      yield* run(() => page.getByLabel("Your API key").fill("svc_live_abc_def"))
      yield* run(() => page.getByRole("button", { name: "Use this key" }).click())
      yield* run(() => page.getByText("401 in").waitFor())
      yield* run(() => page.getByLabel("Your API key").fill(` ${apiKey} `))
      yield* run(() => page.getByRole("button", { name: "Use this key" }).click())
      yield* run(() => page.getByRole("button", { name: "Add the row" }).waitFor())
    })
  )

  it.effect("C37 under a name that was pointed at this machine gets nothing, least of all a sign-in", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { page } = yield* (yield* Browser).visit()
      const foreign = url.replace(/\/\/[^:]+/, "//rebound.example")
      const answer = yield* run(() => page.goto(foreign))
      assert.strictEqual(answer?.status(), 421)
      const asked = yield* run(() =>
        page.evaluate(
          `fetch("/auth/magic-link", { method: "POST", body: '{"email":"ada@example.com"}', headers: { "content-type": "application/json" } }).then(async (answer) => answer.status + await answer.text())`
        )
      )
      assert.match(String(asked), /^421/)
      assert.notInclude(String(asked), "token=")
    })
  )

  for (const javaScript of [true, false]) {
    it.effect(`C31 P27 to a mailed link spends it by its button alone, with scripts ${javaScript ? "on" : "off"}`, () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const accounts = yield* Accounts
        const sql = yield* SqlClient.SqlClient
        const { token } = yield* accounts.requestLink({
          email: `link-${javaScript}@example.com` as never,
          ip: "10.0.0.1"
        })
        const { page } = yield* (yield* Browser).visit({ javaScript })
        for (let visit = 0; visit < 3; visit++) {
          yield* run(() => page.goto(`${url}/sign-in?token=${token}`))
          yield* request("HEAD", `/sign-in?token=${token}`)
        }
        const unspent =
          yield* sql`SELECT FROM magic_links WHERE email = ${`link-${javaScript}@example.com`} AND used_at IS NULL`
        assert.strictEqual(unspent.length, 1)
        yield* run(() => page.getByRole("button", { name: "Show my new API key" }).click())
        const key = yield* run(() => page.getByLabel("Your new API key").inputValue())
        assert.strictEqual((yield* request("GET", "/v1/_tables", { key })).status, 200)
        yield* run(() => page.goto(`${url}/sign-in?token=${token}`))
        assert.isTrue(
          yield* run(() => page.getByRole("heading", { name: "This link is spent or expired" }).isVisible())
        )
      })
    )
  }

  it.effect("copies the new key with one click", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const accounts = yield* Accounts
      const { token } = yield* accounts.requestLink({ email: "copy@example.com" as never, ip: "10.0.0.1" })
      const { page } = yield* (yield* Browser).visit()
      yield* run(() => page.goto(`${url}/sign-in?token=${token}`))
      yield* run(() => page.getByRole("button").first().click())
      const field = page.getByLabel("Your new API key")
      yield* run(() => page.locator(".key-field .copy").click())
      yield* run(() => page.getByText("Copied").waitFor())
      const copied = yield* run(() => page.evaluate("navigator.clipboard.readText()"))
      assert.strictEqual(copied, yield* run(() => field.inputValue()))
    })
  )

  it.effect("finds an operation and an error by searching the reference", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { page } = yield* (yield* Browser).visit()
      yield* run(() => page.goto(`${url}/docs`))
      yield* run(() => page.getByLabel("Search the reference").fill("update where"))
      yield* run(() => page.locator("#search-results a").first().click())
      yield* run(() => page.waitForURL(/\/docs\/rows#rows\.updateWhere$/))
      yield* run(() => page.getByLabel("Search the reference").fill("rate_limited"))
      yield* run(() => page.locator("#search-results a", { hasText: "rate_limited" }).click())
      yield* run(() => page.waitForURL(/\/docs\/errors#rate_limited$/))
      assert.isTrue(yield* run(() => page.locator("#rate_limited pre").isVisible()))
    })
  )
})
