import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SignInLinks } from "../../src/server/accounts/SignInLinks.ts"
import { Browser, browserSuite } from "../support/Browser.ts"
import { BaseUrl, localSecret, request, serviceLayer } from "../support/TestService.ts"

const run = <A>(step: () => Promise<A>) => Effect.promise(step)

browserSuite("A first visit", serviceLayer(), (it) => {
  for (const javaScript of [true, false]) {
    it.effect(`goes from the front page to a stored row, with scripts ${javaScript ? "on" : "off"}`, () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { complaints, page } = yield* (yield* Browser).visit({ javaScript })
        const secret = yield* localSecret
        yield* run(() => page.goto(`${url}/?local=${secret}`))
        yield* run(() => page.getByLabel("Email address").fill(`first-${javaScript}@example.com`))
        yield* run(() => page.getByRole("button", { name: "Get a code" }).click())
        const code = yield* run(() => page.locator(".local-mail code").innerText())
        yield* run(() => page.getByLabel("6-digit code").fill(code))
        yield* run(() => page.getByRole("button", { name: "Sign in" }).click())
        yield* run(() => page.getByRole("heading", { level: 1, name: "Tables" }).waitFor())
        yield* run(() => page.getByText("There are three ways to begin.").waitFor())
        yield* run(() => page.getByLabel("Name").fill("notes"))
        yield* run(() => page.getByLabel("First row").fill('{"text":"<b>hello</b>","n":1.10}'))
        yield* run(() => page.getByRole("button", { name: "Create the table" }).click())
        yield* run(() => page.getByRole("link", { name: "<b>hello</b>" }).waitFor())
        yield* run(() => page.getByRole("cell", { name: "1.10", exact: true }).waitFor())
        yield* run(() => page.goto(url))
        yield* run(() => page.getByRole("link", { name: "notes" }).waitFor())
        assert.deepStrictEqual(complaints, [])
      })
    )
  }

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
        const accounts = yield* SignInLinks
        const sql = yield* SqlClient.SqlClient
        const { token } = yield* accounts.send({
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
          yield* run(() => page.getByRole("heading", { name: "This link has expired or was used already" }).isVisible())
        )
      })
    )
  }

  it.effect("copies the new key with one click", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const accounts = yield* SignInLinks
      const { token } = yield* accounts.send({ email: "copy@example.com" as never, ip: "10.0.0.1" })
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
      yield* run(() => page.getByLabel("Search the documentation").fill("update where"))
      yield* run(() => page.locator("#search-results a").first().click())
      yield* run(() => page.waitForURL(/\/docs\/rows#rows\.updateWhere$/))
      yield* run(() => page.getByLabel("Search the documentation").fill("rate_limited"))
      yield* run(() => page.locator("#search-results a", { hasText: "rate_limited" }).click())
      yield* run(() => page.waitForURL(/\/docs\/errors#rate_limited$/))
      assert.isTrue(yield* run(() => page.locator("#rate_limited pre").isVisible()))
    })
  )

  it.effect("walks through what the search finds by keyboard, words begun in their middle too", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { page } = yield* (yield* Browser).visit()
      yield* run(() => page.goto(`${url}/docs`))
      const field = page.getByLabel("Search the documentation")
      yield* run(() => page.keyboard.press("/"))
      yield* run(() => page.keyboard.type("idempot"))
      const results = page.locator("#search-results a")
      yield* run(() => results.filter({ hasText: "POST /v1/{table}" }).first().waitFor())
      assert.match(yield* run(() => results.first().innerText()), /^Idempotency/)
      yield* run(() => page.keyboard.press("ArrowDown"))
      yield* run(() => page.keyboard.press("ArrowDown"))
      const focused = () => run(() => page.evaluate<string>("document.activeElement.textContent"))
      assert.strictEqual(yield* focused(), yield* run(async () => (await results.nth(1).textContent()) ?? ""))
      yield* run(() => page.keyboard.press("Escape"))
      assert.strictEqual(yield* run(() => page.evaluate("document.activeElement.id")), "search-text")
      yield* run(() => field.fill("update where"))
      yield* run(() => page.keyboard.press("Enter"))
      yield* run(() => page.waitForURL(/\/docs\/rows#rows\.updateWhere$/))
    })
  )

  it.effect(
    "begins each page of the documentation on a phone's first screen, and has self-hosting apart from the API",
    () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { page } = yield* (yield* Browser).visit({ width: 390 })
        yield* run(() => page.goto(`${url}/docs/deployment`))
        const top = yield* run(() =>
          page.evaluate<number>('document.querySelector("main h1").getBoundingClientRect().top')
        )
        assert.isBelow(top, 400)
        const current = page.locator(".docs-nav [aria-current]")
        assert.strictEqual(yield* run(() => current.innerText()), "Deployment")
        const box = yield* run(() => current.boundingBox())
        assert.isBelow(box!.x + box!.width, 390)
        const part = page.locator(".docs-part", { has: page.locator("[aria-current]") })
        assert.match(yield* run(() => part.innerText()), /^Self-hosting\s+Configuration\s+Deployment\s.*Security\s/s)
      })
  )
})
