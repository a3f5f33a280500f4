import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../../src/server/config/Settings.ts"
import { Browser, browserSuite } from "../support/Browser.ts"
import {
  askForMail,
  complaintsOf,
  connectionsOf,
  isFocused,
  mailTo,
  newEmail,
  open,
  seeCallback,
  seeHeading,
  signedInVisit,
  startClient,
  tabTo,
  typeCode
} from "../support/ConsentPages.ts"
import { faultsOfLooks, isInOrder } from "../support/Looks.ts"
import { authorizeQuery, callMcp, newClient, pkce } from "../support/OAuth.ts"
import { BaseUrl, request, serviceLayer } from "../support/TestService.ts"
import { press, run, see } from "../support/Viewer.ts"

// With a mail server the pages don't show what is mailed.
const mailing = { SMTP_URL: "smtp://127.0.0.1:1", MAIL_FROM: "memory@example.com" }

browserSuite("Connecting a client", serviceLayer(mailing), (it) => {
  it.effect("takes one mail on one device, and none for the next client", () =>
    Effect.gen(function* () {
      const email = newEmail()
      const client = yield* startClient({ client_name: "Wombat Notes" })
      const { complaints, page } = yield* (yield* Browser).visit()
      yield* open(page, client.address)
      yield* see(page, "“Wombat Notes” wants to use your Agent Memory.")
      yield* askForMail(page, email)
      const { code } = yield* mailTo(email)
      assert.notInclude(yield* run(() => page.content()), code)
      yield* typeCode(page, code)
      yield* seeHeading(page, "“Wombat Notes” wants to use your Agent Memory")
      yield* see(page, new URL(client.redirectUri).host)
      yield* see(page, email)
      yield* press(page, "Allow")
      yield* seeCallback(page)
      const { baseUrl } = yield* Settings
      assert.strictEqual(client.answers.length, 1)
      const [answer] = client.answers
      assert.deepStrictEqual([...answer!.keys()].toSorted(), ["code", "iss", "state"])
      assert.strictEqual(answer!.get("state"), "a state")
      assert.strictEqual(answer!.get("iss"), baseUrl)
      const { access_token } = yield* client.tokens
      assert.strictEqual((yield* callMcp(access_token)).status, 200)

      const next = yield* startClient({ client_name: "Quokka Plans" })
      yield* open(page, next.address)
      yield* seeHeading(page, "“Quokka Plans” wants to use your Agent Memory")
      yield* press(page, "Allow")
      yield* seeCallback(page)
      assert.strictEqual((yield* callMcp((yield* next.tokens).access_token)).status, 200)
      assert.deepStrictEqual(complaintsOf(complaints), [])
    })
  )

  it.effect("goes on where it began, with a code that was read on another device", () =>
    Effect.gen(function* () {
      const email = newEmail()
      const client = yield* startClient()
      const asking = yield* (yield* Browser).visit()
      yield* open(asking.page, client.address)
      yield* askForMail(asking.page, email)
      const { code, link } = yield* mailTo(email)
      const other = yield* (yield* Browser).visit({ width: 360 })
      yield* open(other.page, link)
      yield* seeHeading(other.page, "This sign-in started in another browser")
      yield* see(other.page, /enter the 6-digit code from the mail on the page you left open/)
      yield* typeCode(asking.page, code)
      yield* press(asking.page, "Allow")
      yield* seeCallback(asking.page)
      assert.strictEqual((yield* callMcp((yield* client.tokens).access_token)).status, 200)
      assert.deepStrictEqual(yield* run(() => other.page.context().cookies()), [])
    })
  )

  it.effect("signs in no browser but the one that presses the link's button, and makes no key", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const email = newEmail()
      const client = yield* startClient()
      const asking = yield* (yield* Browser).visit()
      yield* open(asking.page, client.address)
      yield* askForMail(asking.page, email)
      const { code, link } = yield* mailTo(email)
      const other = yield* (yield* Browser).visit()
      const keys = yield* countKeys
      yield* open(other.page, link)
      yield* press(other.page, "Sign in here")
      yield* seeHeading(other.page, "Tables")
      assert.strictEqual(other.page.url(), `${url}/tables`)
      assert.strictEqual(yield* countKeys, keys)

      const tab = yield* run(() => asking.page.context().newPage())
      yield* open(tab, client.address)
      yield* seeHeading(tab, "Sign in")
      yield* typeCode(asking.page, code)
      yield* seeHeading(asking.page, "This code has expired")
      yield* press(asking.page, `Send a new code to ${email}`)
      yield* seeHeading(asking.page, "Enter the code")
      yield* typeCode(asking.page, (yield* mailTo(email)).code)
      yield* press(asking.page, "Allow")
      yield* seeCallback(asking.page)
      assert.strictEqual(client.answers.length, 1)
    })
  )

  it.effect("lets the keyboard alone choose tables, and shows what was chosen when it can't be", () =>
    Effect.gen(function* () {
      const client = yield* startClient()
      const { complaints, page, person } = yield* signedInVisit()
      for (const table of ["plans", "recipes"]) {
        yield* request("POST", `/v1/${table}`, { key: person.apiKey, body: "{}" })
      }
      yield* open(page, client.address)
      const keys = (...pressed: ReadonlyArray<string>) =>
        Effect.forEach(pressed, (key) => run(() => page.keyboard.press(key)))
      const fault = page.getByRole("alert")
      const only = page.getByRole("radio", { name: "Only these tables" })
      yield* tabTo(page, "radio", "Everything")
      yield* keys("ArrowDown", "ArrowDown")
      yield* tabTo(page, "button", "Allow")
      yield* keys("Enter")
      yield* run(() => fault.filter({ hasText: "Choose at least one table" }).waitFor())
      assert.isTrue(yield* isFocused(only))

      yield* tabTo(page, "checkbox", "plans")
      yield* keys("Space")
      yield* tabTo(page, "textbox", "Other tables it may create")
      yield* run(() => page.keyboard.type("9lives, notes"))
      yield* tabTo(page, "button", "Allow")
      yield* keys("Enter")
      yield* run(() => fault.filter({ hasText: "“9lives” can't be a table" }).waitFor())
      assert.isTrue(yield* isFocused(only))
      assert.isTrue(yield* run(() => only.isChecked()))
      assert.isTrue(yield* run(() => page.getByRole("checkbox", { name: "plans" }).isChecked()))
      assert.isFalse(yield* run(() => page.getByRole("checkbox", { name: "recipes" }).isChecked()))
      const others = page.getByRole("textbox", { name: "Other tables it may create" })
      assert.strictEqual(yield* run(() => others.inputValue()), "9lives, notes")

      yield* tabTo(page, "textbox", "Other tables it may create")
      yield* keys("Home", "Delete")
      yield* tabTo(page, "button", "Allow")
      yield* keys("Enter")
      yield* seeCallback(page)
      yield* client.tokens
      const [connection] = yield* connectionsOf(person.apiKey)
      assert.deepInclude(connection, { access: "tables", tables: ["lives", "notes", "plans"] })
      assert.deepStrictEqual(complaintsOf(complaints), [])
    })
  )

  it.effect("is told of a refusal too, and the policy of the page lets both answers through", () =>
    Effect.gen(function* () {
      const client = yield* startClient()
      const { complaints, page, person } = yield* signedInVisit()
      for (const decision of ["Deny", "Allow"]) {
        yield* open(page, client.address)
        yield* press(page, decision)
        yield* seeCallback(page)
        assert.isTrue(page.url().startsWith(`${client.redirectUri}?`), page.url())
      }
      const [refusal, answer] = client.answers
      const { baseUrl } = yield* Settings
      assert.strictEqual(refusal?.get("error"), "access_denied")
      assert.deepStrictEqual([refusal?.get("state"), refusal?.get("iss")], ["a state", baseUrl])
      assert.isFalse(refusal?.has("code"))
      assert.isTrue(answer?.has("code"))
      assert.deepStrictEqual(yield* connectionsOf(person.apiKey), [])
      assert.deepStrictEqual(complaints, [])
    })
  )

  // Chromium tells of no request to another program that it may be sure of: the answer is looked at before it gets there.
  it.effect("leads back to the program whose own scheme it returns to, as its policy allows", () =>
    Effect.gen(function* () {
      const redirectUri = "cursor://anysphere.cursor-mcp/oauth/callback"
      const client = yield* newClient({ redirect_uris: [redirectUri] })
      const { url } = yield* BaseUrl
      const { complaints, page } = yield* signedInVisit()
      const answers: Array<string> = []
      yield* run(() =>
        page.route("**/authorize*", async (route) => {
          if (route.request().method() !== "POST") return route.continue()
          const answer = await route.fetch({ maxRedirects: 0 })
          answers.push(`${answer.status()} ${answer.headers()["location"]}`)
          await route.fulfill({ status: 204 })
        })
      )
      for (const decision of ["Allow", "Deny"]) {
        const opened = yield* open(
          page,
          `${url}/authorize?${authorizeQuery(client, pkce().challenge, { redirect_uri: redirectUri })}`
        )
        const policy = opened!.headers()["content-security-policy"] ?? ""
        assert.include(/form-action ([^;]*)/.exec(policy)![1]!.split(" "), "cursor:")
        const answered = page.waitForResponse((response) => response.request().method() === "POST")
        yield* press(page, decision)
        yield* run(() => answered)
      }
      const [allowed, denied] = answers
      assert.isTrue(allowed?.startsWith(`303 ${redirectUri}?code=`), allowed)
      assert.isTrue(denied?.startsWith(`303 ${redirectUri}?error=access_denied`), denied)
      assert.deepStrictEqual(complaints, [])
    })
  )

  it.effect("can't pretend by its name to be something else", () =>
    Effect.gen(function* () {
      const name = '\u202eevil" was checked <script>window.hit=1</script>'
      const client = yield* startClient({ client_name: name })
      const { complaints, page } = yield* signedInVisit()
      yield* open(page, client.address)
      const heading = page.getByRole("heading", { level: 1 })
      const text = "“evil' was checked <script>window.hit=1</script>” wants to use your Agent Memory"
      assert.strictEqual(yield* run(() => heading.innerText()), text)
      assert.isTrue(yield* isInOrder(page, "h1"))
      assert.strictEqual(yield* run(() => page.title()), "Allow an app to use your Agent Memory? · Agent Memory")
      assert.isUndefined(yield* run(() => page.evaluate("window.hit")))
      assert.deepStrictEqual(complaints, [])
    })
  )

  it.effect("leads over pages that everybody can read and use, on phones and screens, light and dark", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const client = yield* startClient({ client_name: "W".repeat(79) })
      const { complaints, page } = yield* (yield* Browser).visit()
      yield* open(page, client.address)
      const faults = [...(yield* faultsOfLooks(page, "e-mail"))]
      const email = `${"long.".repeat(11)}${newEmail()}`
      yield* askForMail(page, email)
      const { code } = yield* mailTo(email)
      yield* typeCode(
        page,
        code.replace(/^./, (digit) => String((Number(digit) + 1) % 10))
      )
      yield* see(page, "4 tries left.")
      faults.push(...(yield* faultsOfLooks(page, "code")))
      yield* typeCode(page, code)
      yield* seeHeading(page, /wants to use/)
      yield* run(() => page.getByRole("radio", { name: "Only these tables" }).check())
      yield* press(page, "Allow")
      yield* see(page, /Choose at least one table/)
      faults.push(...(yield* faultsOfLooks(page, "consent")))
      yield* open(page, `${url}/authorize?client_id=https://example.com/${"long".repeat(60)}`)
      yield* see(page, "Nothing was allowed, and nothing was shared with the app.")
      faults.push(...(yield* faultsOfLooks(page, "error")))
      assert.deepStrictEqual([...faults, ...complaintsOf(complaints)], [])
    })
  )
})

const countKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: string }>`SELECT count(*)::text AS count FROM api_keys`
  return row?.count
})
