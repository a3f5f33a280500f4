import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { Browser, browserSuite } from "../support/Browser.ts"
import {
  askForMail,
  complaintsOf,
  connectionsOf,
  mailTo,
  newEmail,
  open,
  seeCallback,
  seeHeading,
  signedInVisit,
  startClient
} from "../support/ConsentPages.ts"
import { faultsOfLooks } from "../support/Looks.ts"
import { callMcp } from "../support/OAuth.ts"
import { BaseUrl, localSecret, serviceLayer } from "../support/TestService.ts"
import { press, run, see } from "../support/Viewer.ts"

/** Presses a button that asks, and then the one of the question. */
const ask = (page: Page, name: string) =>
  run(async () => {
    await page.locator("summary", { hasText: name }).click()
    await page.getByRole("button", { name }).click()
  })

// Without a mail server the service is for its own machine.
browserSuite("The connected apps of a service for its own machine", serviceLayer(), (it) => {
  it.effect("are let in without a mail, as the page of the code shows what it would hold", () =>
    Effect.gen(function* () {
      const client = yield* startClient()
      const { url } = yield* BaseUrl
      const { complaints, page } = yield* (yield* Browser).visit()
      yield* open(page, `${url}/?local=${yield* localSecret}`)
      yield* open(page, client.address)
      yield* askForMail(page, newEmail())
      yield* see(page, "This service runs for this machine only and sends no mail.")
      const shown = page.getByRole("complementary").locator("code")
      yield* run(async () => page.getByLabel("6-digit code").fill(await shown.innerText()))
      yield* press(page, "Sign in")
      yield* press(page, "Allow")
      yield* seeCallback(page)
      assert.strictEqual((yield* callMcp((yield* client.tokens).access_token)).status, 200)
      assert.deepStrictEqual(complaintsOf(complaints), [])
    })
  )

  it.effect("are let in by the shown link as well", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const client = yield* startClient()
      const { page } = yield* (yield* Browser).visit()
      yield* open(page, `${url}/?local=${yield* localSecret}`)
      yield* open(page, client.address)
      yield* askForMail(page, newEmail())
      const link = page.getByRole("complementary").getByRole("link")
      // It leads to the configured address, which this service does not listen on.
      const { pathname, search } = new URL((yield* run(() => link.getAttribute("href"))) ?? "")
      yield* open(page, url + pathname + search)
      yield* seeHeading(page, "Continue signing in")
      yield* press(page, "Continue")
      yield* seeHeading(page, /wants to use your Agent Memory/)
      yield* press(page, "Deny")
      yield* seeCallback(page)
    })
  )

  it.effect("are let in, refused and disconnected without scripts", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const email = newEmail()
      const refused = yield* startClient({ client_name: "Wombat Notes" })
      const { complaints, page } = yield* (yield* Browser).visit({ javaScript: false })
      yield* open(page, refused.address)
      yield* askForMail(page, email)
      const { code } = yield* mailTo(email)
      yield* run(() => page.getByLabel("6-digit code").fill(code))
      yield* press(page, "Sign in")
      yield* press(page, "Deny")
      yield* seeCallback(page)
      assert.strictEqual(refused.answers[0]?.get("error"), "access_denied")

      const allowed = yield* startClient({ client_name: "Quokka Plans" })
      yield* open(page, allowed.address)
      yield* run(() => page.getByRole("radio", { name: "Only these tables" }).check())
      yield* run(() => page.getByLabel("Tables it may create").fill("plans"))
      yield* press(page, "Allow")
      yield* seeCallback(page)
      const { access_token } = yield* allowed.tokens
      assert.strictEqual((yield* callMcp(access_token)).status, 200)

      yield* open(page, `${url}/apps`)
      yield* see(page, "Only plans")
      yield* ask(page, "Disconnect “Quokka Plans”")
      yield* see(page, "No apps are connected.")
      assert.strictEqual((yield* callMcp(access_token)).status, 401)
      assert.deepStrictEqual(complaints, [])
    })
  )

  it.effect("are shown, and refused from the press of a button on", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { complaints, page, person } = yield* signedInVisit()
      const tokens: Array<string> = []
      for (const name of ["Wombat Notes", "Quokka Plans"]) {
        const client = yield* startClient({ client_name: name })
        yield* open(page, client.address)
        yield* press(page, "Allow")
        yield* seeCallback(page)
        tokens.push((yield* client.tokens).access_token)
      }
      yield* open(page, `${url}/apps`)
      yield* ask(page, "Disconnect “Wombat Notes”")
      const status = page.getByRole("status")
      yield* run(() => status.filter({ hasText: "The app is disconnected. Its next call is refused" }).waitFor())
      const names = page.locator("main").getByRole("heading", { level: 2 })
      assert.deepStrictEqual(yield* run(() => names.allInnerTexts()), ["“Quokka Plans”"])
      const calls = yield* Effect.forEach(tokens, (token) => callMcp(token))
      assert.deepStrictEqual(
        calls.map((answer) => answer.status),
        [401, 200]
      )
      assert.strictEqual((yield* connectionsOf(person.apiKey)).length, 1)
      assert.deepStrictEqual(complaints, [])
    })
  )

  it.effect("are no more, nor can be, for a browser that was signed out", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const allowed = yield* startClient()
      const stale = yield* startClient()
      const { page, person } = yield* signedInVisit()
      const other = yield* run(() => page.context().newPage())
      yield* open(other, stale.address)
      yield* open(page, allowed.address)
      yield* press(page, "Allow")
      yield* seeCallback(page)
      const apps = yield* run(() => page.context().newPage())
      yield* open(apps, `${url}/account`)
      yield* press(apps, "Sign out")
      yield* run(() => apps.waitForURL(`${url}/`))
      yield* open(apps, `${url}/apps`)
      yield* seeHeading(apps, "Sign in")

      yield* run(() => page.goBack())
      yield* seeHeading(page, "Sign in")
      yield* press(other, "Allow")
      yield* seeHeading(other, "Sign in")
      assert.deepStrictEqual(stale.answers, [])
      assert.deepStrictEqual(
        allowed.answers.map((answer) => answer.has("code")),
        [true]
      )
      assert.deepStrictEqual(yield* connectionsOf(person.apiKey), [])
    })
  )

  it.effect("have pages that everybody can read and use, on phones and screens, light and dark", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const client = yield* startClient({ client_name: "W".repeat(80) })
      const email = `${"long.".repeat(11)}${newEmail()}`
      const asking = yield* (yield* Browser).visit()
      const { complaints, page } = yield* (yield* Browser).visit()
      yield* open(asking.page, client.address)
      yield* askForMail(asking.page, email)
      const { link } = yield* mailTo(email)
      const faults = [...(yield* faultsOfLooks(asking.page, "local code"))]
      yield* open(page, link)
      faults.push(...(yield* faultsOfLooks(page, "link in another browser")))
      yield* open(asking.page, link)
      faults.push(...(yield* faultsOfLooks(asking.page, "link in the browser that asked")))
      yield* press(page, "Sign in here")
      faults.push(...(yield* faultsOfLooks(page, "no connections")))
      yield* open(asking.page, link)
      faults.push(...(yield* faultsOfLooks(asking.page, "spent link")))
      yield* open(asking.page, `${url}/sign-in/code`)
      faults.push(...(yield* faultsOfLooks(asking.page, "spent code")))
      yield* open(page, client.address)
      yield* run(() => page.getByRole("radio", { name: "Only these tables" }).check())
      yield* run(() => page.getByLabel("Tables it may create").fill(`plans ${"x".repeat(60)} notes`))
      yield* press(page, "Allow")
      yield* seeCallback(page)
      yield* client.tokens
      yield* open(page, `${url}/apps?disconnected=0`)
      yield* see(page, /Only/)
      faults.push(...(yield* faultsOfLooks(page, "connections")))
      assert.deepStrictEqual(faults, [])
      assert.deepStrictEqual(complaintsOf([...asking.complaints, ...complaints]), [])
    })
  )
})
