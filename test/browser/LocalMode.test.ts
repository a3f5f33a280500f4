import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Browser, browserSuite } from "../support/Browser.ts"
import { open, seeHeading } from "../support/ConsentPages.ts"
import { BaseUrl, localSecret, serviceLayer } from "../support/TestService.ts"
import { press, run, see } from "../support/Viewer.ts"

browserSuite("A browser in local mode", serviceLayer(), (it) => {
  it.effect("that opened the address of the start is shown the code, signs in, and shows the secret nowhere", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const secret = yield* localSecret
      const { complaints, page, requests } = yield* (yield* Browser).visit()
      yield* open(page, `${url}/?local=${secret}`)
      assert.strictEqual(page.url(), `${url}/`)
      yield* run(() => page.getByLabel("Email address").fill("grace@example.com"))
      yield* press(page, "Get a code")
      const code = yield* run(() => page.locator(".local-mail code").textContent())
      yield* run(() => page.getByLabel("6-digit code").fill(code ?? ""))
      yield* press(page, "Sign in")
      yield* run(() => page.waitForURL(`${url}/tables`))
      assert.notInclude(
        String(yield* run(() => page.evaluate("document.cookie + location + document.referrer"))),
        secret
      )
      assert.notInclude(yield* run(() => page.content()), secret)
      assert.lengthOf(
        requests.filter((address) => address.includes(secret)),
        1
      )
      assert.deepStrictEqual(complaints, [])
      yield* open(page, `${url}/account`)
      yield* see(page, "grace@example.com")
    })
  )

  it.effect("P45 that did not is told where the mail is, and shown nothing of it", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { page } = yield* (yield* Browser).visit()
      yield* open(page, url)
      yield* see(page, "sends no mail: it prints the code in the terminal")
      yield* run(() => page.getByLabel("Email address").fill("eve@example.com"))
      yield* press(page, "Get a code")
      yield* see(page, "in the terminal of this service")
      yield* run(() => page.getByRole("heading", { name: "Where to find the code" }).waitFor())
      assert.strictEqual(yield* run(() => page.locator(".local-mail").count()), 0)
      assert.notInclude(yield* run(() => page.content()), "token=")
    })
  )

  it.effect("P45 that opens the address of another start is told so", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { page } = yield* (yield* Browser).visit()
      yield* open(page, `${url}/?local=svc_local_${"x".repeat(43)}`)
      yield* seeHeading(page, "Wrong local secret")
      assert.isEmpty(yield* run(() => page.context().cookies()))
    })
  )
})
