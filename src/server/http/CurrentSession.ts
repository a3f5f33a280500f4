import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Sessions, type Session } from "../accounts/Sessions.ts"
import { Settings } from "../Config.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { sessionToken } from "./SessionCookie.ts"

/** The session of the browser that sends a request; the request's log line then has its account. */
export const currentSession = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const token = sessionToken(request, yield* Settings)
  const session = token === undefined ? Option.none<Session>() : yield* (yield* Sessions).find(token)
  if (Option.isSome(session)) (yield* CurrentRequest).accountId = session.value.accountId
  return session
})
