import { timingSafeEqual } from "node:crypto"
import { Context, Data, Effect, Layer, Option, Result } from "effect"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Settings } from "../Config.ts"
import { Tokens } from "../Tokens.ts"
import { ClientUnknown, type Client } from "./Client.ts"
import { ClientDocuments, documentIdFault, isDocumentId } from "./ClientDocuments.ts"
import { readMetadata, shownName, type ClientMetadata, type MetadataFault } from "./ClientMetadata.ts"
import { ClientsRepo } from "./ClientsRepo.ts"
import { redirectFault } from "./RedirectUris.ts"

/** What a registration is answered with (RFC 7591 section 3.2.1). The secret is shown here alone. */
export interface Registration extends ClientMetadata {
  readonly client_id: string
  readonly client_id_issued_at: number
  readonly client_secret?: string
  readonly client_secret_expires_at?: 0
}

/** A client cannot be registered as it wishes. */
export class RegistrationRefused extends Data.TaggedError("RegistrationRefused")<MetadataFault> {}

/** The token endpoint does not take a client for the one that it says to be. */
export class ClientRefused extends Data.TaggedError("ClientRefused")<{ readonly detail: string }> {}

const unknown = "This client is not registered here, or its registration expired. Register it again."
const documentsOff = "This service takes no addresses for client ids. Register the client instead."

/** What has to be known of a registration later. The rest is the client's own business, and told back to it alone. */
const kept = ({ client_name, redirect_uris }: ClientMetadata) => ({ client_name, redirect_uris })

// What was never given out is not looked for.
const isRegisteredId = (clientId: string): boolean => /^[\w-]{43}$/.test(clientId)

/** Knows the programs that ask for access: registered ones, and those with a document of their own. */
export class Clients extends Context.Service<
  Clients,
  {
    /** Registers a client by its metadata (RFC 7591), so many per client IP. */
    readonly register: (
      metadata: unknown,
      ip: string
    ) => Effect.Effect<Registration, RegistrationRefused | RateLimited | Unavailable>
    readonly find: (clientId: string, ip: string) => Effect.Effect<Client, ClientUnknown | RateLimited | Unavailable>
    /** Checks a client's secret, or that it has none. Documents are not fetched: PKCE proves their clients. */
    readonly authenticate: (given: {
      readonly clientId: string
      readonly secret: string | undefined
    }) => Effect.Effect<void, ClientRefused | Unavailable>
    /** The client was given tokens: its registration lives as long as they can be refreshed. */
    readonly keep: (clientId: string) => Effect.Effect<void, Unavailable>
    /** Forgets a batch of registrations that are over; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/Clients") {
  static readonly layerNoDeps = Layer.effect(
    Clients,
    Effect.gen(function* () {
      const repo = yield* ClientsRepo
      const documents = yield* ClientDocuments
      const throttle = yield* SignInThrottle
      const tokens = yield* Tokens
      const { cimd, limits } = yield* Settings

      const register = Effect.fn("Clients.register")(function* (given: unknown, ip: string) {
        const read = readMetadata(given)
        if (Result.isFailure(read)) return yield* new RegistrationRefused(read.failure)
        yield* throttle.spend([{ bucket: `register:ip:${ip}`, perHour: limits.registrationsPerIpPerHour }])
        const metadata = read.success
        const id = yield* tokens.secret
        const secret = metadata.token_endpoint_auth_method === "none" ? undefined : yield* tokens.secret
        const secretHash = secret === undefined ? null : yield* tokens.hash(secret)
        const issuedAt = yield* repo.insert({ id, secretHash, metadata: JSON.stringify(kept(metadata)) })
        return {
          ...metadata,
          client_id: id,
          client_id_issued_at: issuedAt,
          ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 as const })
        }
      })

      const stored = (clientId: string) => (isRegisteredId(clientId) ? repo.find(clientId) : Effect.succeedNone)

      const find = Effect.fn("Clients.find")(function* (clientId: string, ip: string) {
        if (isDocumentId(clientId)) {
          return cimd ? yield* documents.find(clientId, ip) : yield* new ClientUnknown({ detail: documentsOff })
        }
        const found = yield* stored(clientId)
        if (Option.isNone(found)) return yield* new ClientUnknown({ detail: unknown })
        const metadata: ReturnType<typeof kept> = JSON.parse(found.value.metadata)
        // What was registered under other rules leads nowhere any more.
        const redirectUris = metadata.redirect_uris.filter((uri) => redirectFault(uri) === undefined)
        const name = shownName(metadata.client_name, redirectUris)
        return { id: clientId, name, redirectUris, isDocument: false }
      })

      const authenticate = Effect.fn("Clients.authenticate")(function* (given: {
        readonly clientId: string
        readonly secret: string | undefined
      }) {
        const refuse = (detail: string) => new ClientRefused({ detail })
        // Some clients send an empty secret for none.
        const secret = given.secret === "" ? undefined : given.secret
        const unexpected = () => refuse("This client has no secret: send none.")
        if (isDocumentId(given.clientId)) {
          if (!cimd) return yield* refuse(documentsOff)
          const fault = documentIdFault(given.clientId)
          if (fault !== undefined) return yield* refuse(fault)
          return secret === undefined ? undefined : yield* unexpected()
        }
        const found = yield* stored(given.clientId)
        if (Option.isNone(found)) return yield* refuse(unknown)
        const { secretHash } = found.value
        if (secretHash === null) return secret === undefined ? undefined : yield* unexpected()
        if (secret === undefined) return yield* refuse("This client must send the secret that it was registered with.")
        if (!timingSafeEqual(secretHash, yield* tokens.hash(secret)))
          return yield* refuse("The client secret is wrong.")
      })

      const keep = Effect.fn("Clients.keep")(function* (clientId: string) {
        if (isRegisteredId(clientId)) yield* repo.keep(clientId)
      })

      return Clients.of({ register, find, authenticate, keep, prune: repo.prune })
    })
  )

  static readonly layer = Clients.layerNoDeps.pipe(
    Layer.provide([ClientsRepo.layer, ClientDocuments.layer, SignInThrottle.layer, Tokens.layer])
  )
}
