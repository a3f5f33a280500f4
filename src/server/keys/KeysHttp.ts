import { hash } from "node:crypto"
import { Context, Effect, type Fiber, Layer, Option, Redacted } from "effect"
import { Authentication, CallClass, CurrentActor } from "../../api/Middleware.ts"
import { fullAccess } from "../../domain/Actor.ts"
import * as Key from "../../domain/Key.ts"
import { Unauthenticated, InvalidRequest } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { rateLimited, rateLimitHeaders, type Admission } from "./Admission.ts"
import { RateLimiter } from "./RateLimiter.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { CurrentRequest } from "../doors/CurrentRequest.ts"
import { makeGuesses } from "../doors/FloodLimit.ts"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { maxQueryLimit } from "../../domain/Limits.ts"
import { timedPlaceOf } from "../../domain/Row.ts"
import { Notices } from "../accounts/Notices.ts"
import { Keys } from "./Keys.ts"

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
    const guess = makeGuesses(yield* Settings, "keys")

    return Authentication.of({
      bearer: (httpEffect, { credential, endpoint }) => {
        const callClass = Context.get(endpoint.annotations, CallClass)
        const text = Redacted.value(credential)
        const accountId = Key.parse(text)
        if (Option.isNone(accountId)) return Effect.fail(unauthenticated())
        const keyHash = hash("sha256", text, "buffer")

        const enter = (
          admission: Admission,
          fiber: Fiber.Fiber<unknown, unknown>
        ): ReturnType<Authentication["Service"]["bearer"]> => {
          Metrics.rateLimitVerdictUnsafe(fiber.context, callClass, admission._tag)
          if (admission._tag === "Unknown") return Effect.fail(unauthenticated())
          const record = fiber.getRef(CurrentRequest)
          record.headers = rateLimitHeaders(admission)
          if (admission._tag === "Limited") return Effect.fail(rateLimited(admission, "key", fewer[callClass]))
          const { incarnation, key, now, remaining, revision } = admission
          record.accountId = key.accountId
          record.keyId = key.id
          const actor = { ...key, kind: "key", access: fullAccess, now, revision, incarnation, remaining } as const
          return Effect.provideService(httpEffect, CurrentActor, actor)
        }
        const admitting = limiter.admit({ accountId: accountId.value, hash: keyHash, class: callClass })
        return Effect.flatMap(
          guess(keyHash, admitting, ({ _tag }) => _tag !== "Unknown"),
          (admission) => Effect.withFiber((fiber) => enter(admission, fiber))
        )
      }
    })
  })
)

export const KeysHttp = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* Keys
    const notices = yield* Notices

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit } }) {
        const actor = yield* CurrentActor
        const after = cursor === undefined ? undefined : Option.getOrUndefined(timedPlaceOf(cursor))
        const most = limit ?? maxQueryLimit
        const found = yield* keys.list(actor, { limit: most + 1, after })
        const page = found.slice(0, most)
        const hasMore = found.length > most
        const isPaged = limit !== undefined || cursor !== undefined
        return {
          keys: page,
          ...(isPaged || hasMore ? { has_more: hasMore } : {}),
          ...(hasMore ? { next_cursor: Key.cursorAfter(page.at(-1)!) } : {})
        }
      }),
      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const actor = yield* CurrentActor
        yield* refuseIdempotencyKey(headers)
        const created = yield* keys.create(actor, payload.name)
        yield* notices.keyAdded(actor.accountId, created)
        return created
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        return { revoked: yield* keys.revoke(yield* CurrentActor, params.id) }
      })
    })
  })
)

/** Refuses an `Idempotency-Key` where the answer, which it would have to be kept with, holds a secret. */
export const refuseIdempotencyKey = (headers: { readonly "idempotency-key"?: string }) =>
  headers["idempotency-key"] === undefined
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          detail: "This operation takes no Idempotency-Key: its answer holds a secret, which is never stored.",
          hint: "Send the request without it. Doing it twice makes two, and either works.",
          errors: [{ parameter: "idempotency-key", message: "is not taken here" }]
        })
      )
