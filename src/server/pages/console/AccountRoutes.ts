import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { AccountDeletion } from "../../accounts/AccountDeletion.ts"
import { withoutSession } from "../../accounts/browser/Cookies.ts"
import { Sessions } from "../../accounts/browser/Sessions.ts"
import { Settings } from "../../config/Settings.ts"
import { Tables } from "../../tables/Tables.ts"
import { html } from "../../doors/Html.ts"
import { narrowPage } from "../MessagePages.ts"
import { seeOther } from "../PrivatePage.ts"
import { settingsPage } from "./AccountPage.ts"
import { makeConsole, type Person } from "./Console.ts"
import { accountResponse, freshSignInPage, isStale } from "./Frame.ts"

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
