import { Effect, Layer, Result, Schema } from "effect"
import { HttpServerRequest, HttpRouter } from "effect/http"
import { AccountDeletion } from "../../accounts/AccountDeletion.ts"
import { withoutSession } from "../../accounts/browser/Cookies.ts"
import { Sessions } from "../../accounts/browser/Sessions.ts"
import { Settings } from "../../config/Settings.ts"
import { Tables } from "../../tables/Tables.ts"
import { html } from "../../doors/Html.ts"
import { narrowPage } from "../Page.ts"
import { seeOther } from "../PrivatePage.ts"
import { settingsPage, keysPage, newKeyPage, appPage, longestAppName, appsPage } from "./AccountPages.ts"
import { makeConsole, type Person } from "./Console.ts"
import { accountResponse, freshSignInPage, isStale } from "./Frame.ts"
import { KeyName } from "../../../domain/Key.ts"
import { Notices } from "../../accounts/Notices.ts"
import { Keys } from "../../keys/Keys.ts"
import type { AccountId } from "../../../domain/Account.ts"
import { NotFound } from "../../../domain/Problem.ts"
import { problemResponse } from "../../doors/RenderProblem.ts"
import { route } from "../../doors/Routes.ts"
import { Grants } from "../../oauth/Grants.ts"
import { choiceOf, grantOf } from "../ConsentPage.ts"

/** The page of the account, and the forms that sign browsers out and delete it. */
export const AccountRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const tables = yield* Tables
    const deletion = yield* AccountDeletion
    const settings = yield* Settings
    const console = yield* makeConsole

    const show = Effect.fnUntraced(function* (
      { accountId, actor, email, proof, token }: Person,
      said: { readonly result?: string; readonly problem?: string } = {}
    ) {
      const page = settingsPage({
        email,
        totals: yield* tables.totals(actor),
        limits: settings.limits,
        sessions: yield* sessions.list(accountId, token),
        proof,
        ...said
      })
      return accountResponse(page, said.problem === undefined ? 200 : 400)
    })

    yield* console.page(
      "/account",
      Effect.fnUntraced(function* (person) {
        const { others } = yield* HttpServerRequest.ParsedSearchParams
        return yield* show(person, others === "out" ? { result: "All other browsers are signed out." } : {})
      })
    )

    yield* console.form(
      "/account/_delete",
      Effect.fnUntraced(function* (person, fields) {
        const { actor, email } = person
        if (isStale(person)) {
          const why = "Nothing that is deleted with your account can be brought back, so sign in once more before."
          return accountResponse(freshSignInPage(email, "/account", why), 403)
        }
        const typed = (fields.get("email") ?? "").trim().toLowerCase()
        if (typed !== email.toLowerCase()) {
          return yield* show(person, { problem: `Nothing was deleted: type ${email} to confirm.` })
        }
        yield* deletion.deleteAccount(actor, email)
        const page = narrowPage(
          "Your account was deleted",
          html`<h1>Your account was deleted</h1>
<p class="lead">Nothing of it is stored any more. An email confirms it.</p>
<p class="actions"><a class="button" href="/">Go to the front page</a></p>`
        )
        return withoutSession(accountResponse(page), settings)
      })
    )

    yield* console.form(
      "/sign-out",
      Effect.fnUntraced(function* ({ accountId, token }, fields) {
        if (fields.get("others") === "1") {
          yield* sessions.endOthers(accountId, token)
          return seeOther("/account?others=out")
        }
        yield* sessions.end(token)
        return withoutSession(seeOther("/"), settings)
      })
    )
  })
)

const isKeyName = Schema.is(KeyName)

/** The page of API keys, and the forms that create and revoke one. */
export const KeysRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const keys = yield* Keys
    const notices = yield* Notices
    const { baseUrl } = yield* Settings
    const console = yield* makeConsole

    type Shown = Pick<Parameters<typeof keysPage>[0], "result" | "typed">
    const show = Effect.fnUntraced(function* ({ actor, proof }: Person, shown: Shown) {
      const page = keysPage({ keys: yield* keys.list(actor), proof, ...shown })
      return accountResponse(page, shown.typed === undefined ? 200 : 400)
    })

    yield* console.page(
      "/keys",
      Effect.fnUntraced(function* (person) {
        const { revoked } = yield* HttpServerRequest.ParsedSearchParams
        const result =
          revoked === "1" ? "The key is revoked." : revoked === "0" ? "That key was already revoked." : undefined
        return yield* show(person, { result })
      })
    )

    yield* console.form(
      "/keys",
      Effect.fnUntraced(function* (person, fields) {
        const name = (fields.get("name") ?? "").trim()
        const { accountId, actor, email } = person
        if (!isKeyName(name))
          return yield* show(person, { typed: { name, problem: "Enter a name of 1 to 80 characters." } })
        if (isStale(person)) {
          const why = "A key gives access to your whole account, so sign in once more before you create one."
          return accountResponse(freshSignInPage(email, "/keys", why), 403)
        }
        const created = yield* Effect.result(keys.create(actor, name))
        if (Result.isFailure(created)) {
          const { failure } = created
          if (failure.status === 503) return yield* failure
          return yield* show(person, { typed: { name, problem: failure.detail ?? "No key was created." } })
        }
        yield* notices.keyAdded(accountId, created.success)
        return accountResponse(newKeyPage(created.success, baseUrl))
      })
    )

    yield* console.form(
      "/keys/_revoke",
      Effect.fnUntraced(function* ({ actor }, fields) {
        return seeOther(`/keys?revoked=${yield* keys.revoke(actor, fields.get("id") ?? "")}`)
      })
    )
  })
)

/** What the page says after a disconnection, by its query. */
const results = new Map([
  ["saved", "Saved. The app’s next call goes by it."],
  ["1", "The app is disconnected. Its next call is refused, and its links have expired."],
  ["0", "That app was already disconnected."]
])

/** The pages of connected apps, and the forms that change or disconnect one. */
export const AppsRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const grants = yield* Grants
    const tables = yield* Tables
    const { baseUrl } = yield* Settings
    const console = yield* makeConsole

    yield* console.page(
      "/apps",
      Effect.fnUntraced(function* ({ accountId, email, proof }) {
        const { disconnected, done = disconnected } = yield* HttpServerRequest.ParsedSearchParams
        const connections = yield* grants.list(accountId)
        return accountResponse(
          appsPage({ email, connections, proof, baseUrl, disconnected: results.get(String(done)) })
        )
      })
    )

    yield* console.form(
      "/apps",
      Effect.fnUntraced(function* ({ accountId }, fields) {
        const revoked = yield* grants.revoke(accountId, fields.get("id") ?? "")
        return seeOther(`/apps?disconnected=${revoked === 0 ? 0 : 1}`)
      })
    )

    const appOf = Effect.fnUntraced(function* (accountId: AccountId) {
      const { id } = yield* HttpRouter.params
      const app = (yield* grants.list(accountId)).find((one) => one.id === id)
      return (
        app ?? (yield* new NotFound({ detail: "No connected app has this address. It may have been disconnected." }))
      )
    })

    yield* console.page(
      "/apps/:id",
      Effect.fnUntraced(function* ({ accountId, actor, proof }) {
        const app = yield* appOf(accountId)
        return accountResponse(appPage({ app, tables: yield* tables.names(actor), proof }))
      })
    )

    yield* console.form(
      "/apps/:id",
      Effect.fnUntraced(function* ({ accountId, actor, proof }, fields) {
        const app = yield* appOf(accountId)
        const name = (fields.get("name") ?? "").trim()
        const chosen = choiceOf(fields)
        const again = Effect.fnUntraced(function* (problem: string) {
          const typed = { name, chosen, problem }
          return accountResponse(appPage({ app, tables: yield* tables.names(actor), proof, typed }), 400)
        })
        if (name === "" || name.includes("\0") || name.length > longestAppName) {
          return yield* again(`Give the app a name of up to ${longestAppName} characters.`)
        }
        const grant = grantOf(chosen)
        if (Result.isFailure(grant)) return yield* again(grant.failure)
        yield* grants.change(accountId, app.id, { name, ...grant.success })
        return seeOther("/apps?done=saved")
      })
    )

    // Mails have led here.
    yield* route({
      method: "GET",
      path: "/connections",
      render: problemResponse,
      *handle() {
        return seeOther("/apps")
      }
    })
  })
)
