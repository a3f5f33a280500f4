import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { withoutSession } from "../../accounts/browser/Cookies.ts"
import { Sessions } from "../../accounts/browser/Sessions.ts"
import { Settings } from "../../config/Settings.ts"
import { Tables } from "../../tables/Tables.ts"
import { seeOther } from "../PrivatePage.ts"
import { settingsPage } from "./AccountPage.ts"
import { makeConsole } from "./Console.ts"
import { accountResponse } from "./Frame.ts"

/** The page of the account, and the form that signs browsers out. */
export const AccountRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const tables = yield* Tables
    const settings = yield* Settings
    const console = yield* makeConsole

    yield* console.page(
      "/account",
      Effect.fnUntraced(function* ({ accountId, actor, email, proof, token }) {
        const { others } = yield* HttpServerRequest.ParsedSearchParams
        const page = settingsPage({
          email,
          totals: yield* tables.totals(actor),
          limits: settings.limits,
          sessions: yield* sessions.list(accountId, token),
          proof,
          result: others === "out" ? "All other browsers are signed out." : undefined
        })
        return accountResponse(page)
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
