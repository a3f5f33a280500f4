import { Cache, Context, Data, Duration, Effect, Exit, Layer, Predicate, Result } from "effect"
import { parseEnvelope } from "../../domain/json/ParseEnvelope.ts"
import { decodeUtf8 } from "../../domain/json/Utf8.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Settings } from "../config/Settings.ts"
import { maxUriLength, readRedirects, shownName } from "./ClientMetadata.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** A client, as shown at the consent page and as its requests are checked. */
export interface Client {
  readonly id: string
  /** Chosen by the client, so it proves nothing. */
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  /** Whether its id is the URL of a document that describes it, so that the URL's host vouches for it. */
  readonly isDocument: boolean
}

/** There is no client with this id. The detail says why, for the person at the browser. */
export class ClientUnknown extends Data.TaggedError("ClientUnknown")<{ readonly detail: string }> {
  readonly status = 400
  readonly code = "invalid_client"
}

/** The response of a URL. */
export interface FetchedDocument {
  readonly status: number
  readonly contentType: string
  readonly cacheControl: string
  readonly body: Uint8Array
}

/** Nothing was fetched. The reason is for people and follows "The document could not be used: ". */
export class FetchFailed extends Data.TaggedError("FetchFailed")<{ readonly reason: string }> {}

/** Fetches an https URL, without following redirects. */
export class DocumentFetcher extends Context.Service<
  DocumentFetcher,
  { readonly fetch: (url: URL, maxBytes: number) => Effect.Effect<FetchedDocument, FetchFailed> }
>()("agent-memory/server/oauth/ClientDocuments/DocumentFetcher") {}

const maxDocumentBytes = 5 * 1024

// Whatever else a client supports, PKCE authenticates its requests.
const authMethods: ReadonlyArray<unknown> = ["none", "private_key_jwt"]

/** Whether a client id is the URL of a document that describes the client. */
export const isDocumentId = (clientId: string): boolean => /^https?:/i.test(clientId)

/** Why a client id is not the URL of a document (Client ID Metadata Document, section 3); undefined if it can be one. */
export const documentIdFault = (clientId: string): string | undefined => {
  if (clientId.length > maxUriLength) return `A client id may have at most ${maxUriLength} characters.`
  if (!clientId.startsWith("https://")) return "A client id that is a URL must begin with https://."
  const url = URL.parse(clientId)
  // A URL in another form (with dot segments, or another spelling of the host) might be compared or fetched as a different one.
  if (url?.href !== clientId) return "A client id that is a URL must be complete and in its normal form."
  if (clientId.includes("#")) return "A client id that is a URL must not have a fragment."
  if (url.username !== "" || url.password !== "") return "A client id that is a URL must not have a user name."
  if (url.pathname === "/") return "A client id that is a URL must have a path."
  return undefined
}

const isJson = (contentType: string): boolean => /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;|$)/i.test(contentType)

/** How long a document is cached: an hour, or as it says, but at least a minute and at most a day. */
const lifeOf = ({ cacheControl }: FetchedDocument): Duration.Duration => {
  const directives = cacheControl.toLowerCase().split(",")
  if (directives.some((directive) => /^\s*no-(?:store|cache)\b/.test(directive))) return Duration.minutes(1)
  const maxAge = directives.flatMap((directive) => /^\s*max-age="?(\d+)"?\s*$/.exec(directive)?.[1] ?? [])[0]
  return Duration.seconds(Math.min(86_400, Math.max(60, Number(maxAge ?? 3600))))
}

const parse = (body: Uint8Array): unknown => {
  const text = decodeUtf8(body)
  return text.issue === undefined ? parseEnvelope(text.value, { kind: "plain" }).value : undefined
}

/** The client that a response describes, or what is wrong with it. */
const clientOf = (id: string, { body, contentType, status }: FetchedDocument): Result.Result<Client, string> => {
  if (status >= 300 && status < 400) return Result.fail("its URL redirects to another one")
  if (status !== 200) return Result.fail(`its URL responded with status ${status}`)
  if (!isJson(contentType)) return Result.fail("it is not sent as application/json")
  if (body.length > maxDocumentBytes) return Result.fail(`it is larger than ${maxDocumentBytes} bytes`)
  const document = parse(body)
  if (!Predicate.isObject(document)) return Result.fail("it is not a JSON object")
  const { client_id, client_name, client_secret, redirect_uris, token_endpoint_auth_method } = document
  if (client_id !== id) return Result.fail("its client_id is not its own URL")
  if (!Predicate.isString(client_name) || client_name.trim() === "") return Result.fail("it has no client_name")
  const redirects = readRedirects(redirect_uris)
  if (Result.isFailure(redirects)) return Result.fail(`its redirect_uris cannot be used: ${redirects.failure}`)
  if (Predicate.isNotNullish(client_secret) || !authMethods.includes(token_endpoint_auth_method ?? "none")) {
    return Result.fail("its token_endpoint_auth_method must be none, because a public document has no secret")
  }
  const name = shownName(client_name, redirects.success)
  return Result.succeed({ id, name, redirectUris: redirects.success, isDocument: true })
}

/** Clients that a document describes. The client id is the URL of the document. */
export class ClientDocuments extends Context.Service<ClientDocuments>()("agent-memory/server/oauth/ClientDocuments", {
  make: Effect.gen(function* () {
    const fetcher = yield* DocumentFetcher
    const throttle = yield* SignInThrottle
    const { limits } = yield* Settings

    const fetchClient = traced("ClientDocuments.fetch")(function* (clientId: string) {
      const url = new URL(clientId)
      const unusable = (reason: string) =>
        new ClientUnknown({ detail: `The client's document at ${url.host} could not be used: ${reason}.` })
      const fetched = yield* Effect.mapError(fetcher.fetch(url, maxDocumentBytes), ({ reason }) => unusable(reason))
      const client = yield* Effect.mapError(Effect.fromResult(clientOf(clientId, fetched)), unusable)
      return { client, life: lifeOf(fetched) }
    })

    const cache = yield* Cache.makeWith(fetchClient, {
      capacity: 1000,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? exit.value.life : Duration.seconds(30))
    })

    /** The client that a document describes. Documents that are not cached are fetched, within the limit per client IP. */
    const find = traced("ClientDocuments.find")(function* (clientId: string, ip: string) {
      const fault = documentIdFault(clientId)
      if (fault !== undefined) return yield* new ClientUnknown({ detail: fault })
      if (!(yield* Cache.has(cache, clientId))) {
        yield* throttle.spend([{ bucket: `register:ip:${ip}`, perHour: limits.registrationsPerIpPerHour }])
      }
      return (yield* Cache.get(cache, clientId)).client
    })

    return { find }
  })
}) {
  static readonly layer = Layer.effect(this, this.make).pipe(Layer.provide(SignInThrottle.layer))
}
