import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Digest } from "effect/crypto"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { Authentication, CallClass, CurrentKey } from "../../api/Authentication.ts"
import * as Key from "../../domain/Key.ts"
import { Unauthenticated } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { rateLimited, rateLimitHeaders } from "../keys/Admission.ts"
import { RateLimiter } from "../keys/RateLimiter.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { makeGuesses } from "./Guesses.ts"

const unauthenticated = () => new Unauthenticated({ detail: "The API key is missing or not valid." })

const fewer = {
  read: "One query reads up to 1000 rows, and _export every row of the account.",
  write: "One batch request carries several writes to one table."
}

/** Admits requests by their API key; a mistyped key is refused without asking the database. */
export const AuthenticationLayer = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const digest = yield* Digest.Digest
    const utf8 = new TextEncoder()
    const guess = makeGuesses(yield* Settings, "keys")

    return Authentication.of({
      bearer: (httpEffect, { credential, endpoint }) => {
        const callClass = Context.get(endpoint.annotations, CallClass)
        return Effect.gen(function* () {
          const text = Redacted.value(credential)
          const accountId = Key.parse(text)
          if (Option.isNone(accountId)) return yield* unauthenticated()
          const hash = yield* Effect.orDie(digest.digest(Digest.sha256, utf8.encode(text)))
          const admitting = limiter.admit({ accountId: accountId.value, hash, class: callClass })
          const admission = yield* guess(hash, admitting, ({ _tag }) => _tag !== "Unknown")
          yield* Metrics.rateLimitVerdict(callClass, admission._tag)
          if (admission._tag === "Unknown") return yield* unauthenticated()
          const headers = rateLimitHeaders(admission)
          yield* HttpEffect.appendPreResponseHandler((_request, response) =>
            Effect.succeed(HttpServerResponse.setHeaders(response, headers))
          )
          if (admission._tag === "Limited") return yield* rateLimited(admission, "key", fewer[callClass])
          const record = yield* CurrentRequest
          record.accountId = admission.key.accountId
          record.keyId = admission.key.id
          const { incarnation, key, now, remaining, revision } = admission
          return yield* Effect.provideService(httpEffect, CurrentKey, { ...key, now, revision, incarnation, remaining })
        })
      }
    })
  })
)
