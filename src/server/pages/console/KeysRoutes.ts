import { Effect, Layer, Result, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { KeyName } from "../../../domain/Key.ts"
import { Notices } from "../../accounts/Notices.ts"
import { Settings } from "../../config/Settings.ts"
import { Keys } from "../../keys/Keys.ts"
import { seeOther } from "../PrivatePage.ts"
import { makeConsole, type Person } from "./Console.ts"
import { accountResponse, freshSignInPage, isStale } from "./Frame.ts"
import { keysPage, newKeyPage } from "./KeysPage.ts"

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
