import { Cache, Context, Duration, Effect, Exit, Layer, Predicate, Result } from "effect"
import { parseEnvelope } from "../../domain/json/ParseEnvelope.ts"
import { decodeUtf8 } from "../../domain/json/Utf8.ts"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Settings } from "../Config.ts"
import { ClientUnknown, type Client } from "./Client.ts"
import { readRedirects, shownName } from "./ClientMetadata.ts"
import { DocumentFetcher, type FetchedDocument } from "./DocumentFetcher.ts"
import { maxUriLength } from "./RedirectUris.ts"

const maxDocumentBytes = 5 * 1024
const cached = 1000
const failureLife = Duration.seconds(30)

/** In seconds: how long a document is used without asking for it again. */
const life = { least: 60, usual: 3600, most: 86_400 } as const

// Whatever a client can do besides, its requests are proved by PKCE.
const authMethods: ReadonlyArray<unknown> = ["none", "private_key_jwt"]

/** Whether a client id is the address of a document that describes the client. */
export const isDocumentId = (clientId: string): boolean => /^https?:/i.test(clientId)

/** Why a client id is no address of a document (Client ID Metadata Document, section 3); none if it may be one. */
export const documentIdFault = (clientId: string): string | undefined => {
  if (clientId.length > maxUriLength) return `A client id may have ${maxUriLength} characters.`
  if (!clientId.startsWith("https://")) return "A client id that is an address must begin with https://."
  const url = URL.parse(clientId)
  // What has another normal form (dot segments, other spellings of a host) may be compared or fetched as another one.
  if (url?.href !== clientId) return "A client id that is an address must be a complete one in its normal form."
  if (clientId.includes("#")) return "A client id that is an address must have no fragment."
  if (url.username !== "" || url.password !== "") return "A client id that is an address must hold no user name."
  if (url.pathname === "/") return "A client id that is an address must have a path."
  return undefined
}

const isJson = (contentType: string): boolean => /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;|$)/i.test(contentType)

const lifeOf = ({ cacheControl }: FetchedDocument): Duration.Duration => {
  const directives = cacheControl.toLowerCase().split(",")
  if (directives.some((directive) => /^\s*no-(?:store|cache)\b/.test(directive))) return Duration.seconds(life.least)
  const maxAge = directives.flatMap((directive) => /^\s*max-age="?(\d+)"?\s*$/.exec(directive)?.[1] ?? [])[0]
  const seconds = maxAge === undefined ? life.usual : Number(maxAge)
  return Duration.seconds(Math.min(life.most, Math.max(life.least, seconds)))
}

const parse = (body: Uint8Array): unknown => {
  const text = decodeUtf8(body)
  return text.issue === undefined ? parseEnvelope(text.value, { kind: "plain" }).value : undefined
}

/** The client that an answer describes, or what is wrong with it. */
const clientOf = (id: string, { body, contentType, status }: FetchedDocument): Result.Result<Client, string> => {
  if (status >= 300 && status < 400) return Result.fail("its address redirects to another one")
  if (status !== 200) return Result.fail(`its address answered with status ${status}`)
  if (!isJson(contentType)) return Result.fail("it is not sent as application/json")
  if (body.length > maxDocumentBytes) return Result.fail(`it is larger than ${maxDocumentBytes} bytes`)
  const document = parse(body)
  if (!Predicate.isObject(document) || Array.isArray(document)) return Result.fail("it is no JSON object")
  const { client_id, client_name, client_secret, redirect_uris, token_endpoint_auth_method }: Record<string, unknown> =
    { ...document }
  if (client_id !== id) return Result.fail("its client_id is not its own address")
  if (!Predicate.isString(client_name) || client_name.trim() === "") return Result.fail("it has no client_name")
  const redirects = readRedirects(redirect_uris)
  if (Result.isFailure(redirects)) return Result.fail(`its redirect_uris cannot be used: ${redirects.failure}`)
  if (Predicate.isNotNullish(client_secret) || !authMethods.includes(token_endpoint_auth_method ?? "none")) {
    return Result.fail("its token_endpoint_auth_method must be none, since a public document holds no secret")
  }
  const name = shownName(client_name, redirects.success)
  return Result.succeed({ id, name, redirectUris: redirects.success, isDocument: true })
}

/** Clients that say who they are in a document of their own; their id is its address. */
export class ClientDocuments extends Context.Service<
  ClientDocuments,
  {
    /** The client that a document describes. Documents that are not known yet are fetched, so often per client IP. */
    readonly find: (clientId: string, ip: string) => Effect.Effect<Client, ClientUnknown | RateLimited | Unavailable>
  }
>()("agent-memory/server/oauth/ClientDocuments") {
  static readonly layerNoDeps = Layer.effect(
    ClientDocuments,
    Effect.gen(function* () {
      const fetcher = yield* DocumentFetcher
      const throttle = yield* SignInThrottle
      const { limits } = yield* Settings

      const fetchClient = Effect.fn("ClientDocuments.fetch")(function* (clientId: string) {
        const url = new URL(clientId)
        const unusable = (reason: string) =>
          new ClientUnknown({ detail: `The client's document at ${url.host} could not be used: ${reason}.` })
        const fetched = yield* fetcher
          .fetch(url, maxDocumentBytes)
          .pipe(Effect.mapError(({ reason }) => unusable(reason)))
        const client = yield* Effect.mapError(Effect.fromResult(clientOf(clientId, fetched)), unusable)
        return { client, life: lifeOf(fetched) }
      })

      const cache = yield* Cache.makeWith(fetchClient, {
        capacity: cached,
        timeToLive: (exit) => (Exit.isSuccess(exit) ? exit.value.life : failureLife)
      })

      const find = Effect.fn("ClientDocuments.find")(function* (clientId: string, ip: string) {
        const fault = documentIdFault(clientId)
        if (fault !== undefined) return yield* new ClientUnknown({ detail: fault })
        if (!(yield* Cache.has(cache, clientId))) {
          yield* throttle.spend([{ bucket: `register:ip:${ip}`, perHour: limits.registrationsPerIpPerHour }])
        }
        return (yield* Cache.get(cache, clientId)).client
      })

      return ClientDocuments.of({ find })
    })
  )

  static readonly layer = ClientDocuments.layerNoDeps.pipe(Layer.provide(SignInThrottle.layer))
}
