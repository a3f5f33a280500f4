import { NodeCrypto } from "@effect/platform-node"
import { Effect, Layer, Schema } from "effect"
import { Email } from "../../../src/domain/Account.ts"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { BrowserSignIns } from "../../../src/server/accounts/BrowserSignIns.ts"
import { Mailer } from "../../../src/server/mail/Mailer.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { settingsLayer, SignInLinksLayer } from "../../support/SignInServices.ts"

/** What signs people in, on a database of the suite's own. */
export const SignInLayer = BrowserSignIns.layer.pipe(
  Layer.provideMerge(SignInLinksLayer),
  Layer.provideMerge(
    Layer.mergeAll(
      DatabaseLayer,
      NodeCrypto.layer,
      Mailer.layerMemory,
      settingsLayer({ BASE_URL: "http://localhost:4321" })
    )
  )
)

const email = Schema.decodeSync(Email)
let visitors = 0
/** A client that has spent nothing. */
export const newIp = () => `198.51.100.${visitors++}`
/** An address that has spent nothing. */
export const newEmail = () => email(`visitor${visitors++}@example.com`)
export const returnTo = "/authorize?client_id=a&state=b%20c"

/** A sign-in that a browser began. */
export const begin = Effect.fnUntraced(function* (address: Email = newEmail()) {
  return yield* (yield* BrowserSignIns).begin({ email: address, ip: newIp(), returnTo })
})

export const byCode = Effect.fnUntraced(function* (browser: string, code: string) {
  return yield* (yield* BrowserSignIns).byCode({ browser, code, ip: newIp() })
})

export const byLink = Effect.fnUntraced(function* (token: string, browser?: string) {
  return yield* (yield* BrowserSignIns).byLink({ token, browser, ip: newIp() })
})

export const verify = Effect.fnUntraced(function* (token: string) {
  return yield* (yield* SignInLinks).verify({ token, ip: newIp() })
})

/** A code that is surely not this one. */
export const wrong = (code: string, step = 1) => String((Number(code) + step) % 1_000_000).padStart(6, "0")

/** Why a code was refused. */
export const refusal = (attempt: ReturnType<typeof byCode>) =>
  Effect.map(Effect.flip(attempt), (error) => (error._tag === "CodeRefused" ? error.reason : error._tag))
