import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { Settings } from "../../config/Settings.ts"
import { problemResponse } from "../../doors/RenderProblem.ts"
import { route } from "../../doors/Routes.ts"
import { Grants } from "../../oauth/Grants.ts"
import { seeOther } from "../PrivatePage.ts"
import { appsPage } from "./AppsPage.ts"
import { makeConsole } from "./Console.ts"
import { accountResponse } from "./Frame.ts"

/** What the page says after a disconnection, by its query. */
const results: Readonly<Record<string, string>> = {
  "1": "The app is disconnected. Its next call is refused, and its links have expired.",
  "0": "That app was already disconnected."
}

/** The page of connected apps, and the form that disconnects one. */
export const AppsRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const grants = yield* Grants
    const { baseUrl } = yield* Settings
    const console = yield* makeConsole

    yield* console.page(
      "/apps",
      Effect.fnUntraced(function* ({ accountId, email, proof }) {
        const { disconnected } = yield* HttpServerRequest.ParsedSearchParams
        const connections = yield* grants.list(accountId)
        return accountResponse(
          appsPage({ email, connections, proof, baseUrl, disconnected: results[String(disconnected)] })
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
