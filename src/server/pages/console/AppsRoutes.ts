import { Effect, Layer, Result } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { AccountId } from "../../../domain/Account.ts"
import { NotFound } from "../../../domain/Problem.ts"
import { Settings } from "../../config/Settings.ts"
import { problemResponse } from "../../doors/RenderProblem.ts"
import { route } from "../../doors/Routes.ts"
import { Grants } from "../../oauth/Grants.ts"
import { Tables } from "../../tables/Tables.ts"
import { choiceOf, grantOf } from "../Consent.ts"
import { seeOther } from "../PrivatePage.ts"
import { appPage, longestAppName } from "./AppPage.ts"
import { appsPage } from "./AppsPage.ts"
import { makeConsole } from "./Console.ts"
import { accountResponse } from "./Frame.ts"

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
