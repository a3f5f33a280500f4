import { Effect, Layer } from "effect"
import { parseEnvelope } from "../../domain/json/ParseEnvelope.ts"
import { Settings } from "../config/Settings.ts"
import { readText } from "../doors/Bodies.ts"
import { clientOf } from "../doors/Peer.ts"
import { route } from "../doors/Routes.ts"
import { Clients } from "./Clients.ts"
import { oauthJson, OAuthProblem, oauthRenderer } from "./OAuthProblem.ts"

const refuse = (error: OAuthProblem["error"], description: string) =>
  Effect.fail(new OAuthProblem({ status: 400, error, description }))

/** `POST /register`: dynamic client registration (RFC 7591). Anyone can register; a registration alone gives no access. */
export const RegisterRoute = Layer.effectDiscard(
  Effect.gen(function* () {
    const clients = yield* Clients
    const settings = yield* Settings

    yield* route({
      method: "POST",
      path: "/register",
      render: oauthRenderer("invalid_client_metadata"),
      *handle(request) {
        const text = yield* readText(request, settings.limits.authRequestBytes)
        const { issue, value } = parseEnvelope(text, { kind: "plain" })
        if (issue !== undefined) return yield* refuse("invalid_client_metadata", issue.message)
        const registration = yield* Effect.catchTag(
          clients.register(value, clientOf(request, settings)),
          "RegistrationRefused",
          ({ detail, error }) => refuse(error, detail)
        )
        return oauthJson(registration, 201)
      }
    })
  })
)
