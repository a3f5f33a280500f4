import { timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Settings } from "../config/Settings.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { ClientDocuments, documentIdFault, isDocumentId, ClientUnknown } from "./ClientDocuments.ts"
import { type ClientMetadata, readMetadata, redirectFault, shownName } from "./ClientMetadata.ts"
import { oauthProblem } from "./OAuthProblem.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { SqlClient } from "effect/sql"
import { makePrune } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"

const unknown = "This client is not registered here, or its registration expired. Register it again."
const documentsOff = "This service does not accept URLs as client ids. Register the client instead."

// No other id was ever issued, so that others need no look-up.
const isRegisteredId = (clientId: string): boolean => /^[\w-]{43}$/.test(clientId)

// Refresh tokens live 90 days from their last use, and their client a day longer, so that most refreshes need not extend it.
const keptDays = 91
const unusedDays = 7

/** How many registrations that were never used to connect are kept. One more removes the oldest. */
const maxUnused = 10_000

/** The programs that ask for access: registered ones, and those with a Client ID Metadata Document. */
export class Clients extends Context.Service<Clients>()("agent-memory/server/oauth/Clients", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const documents = yield* ClientDocuments
    const throttle = yield* SignInThrottle
    const tokens = yield* Tokens
    const { cimd, limits } = yield* Settings

    /** Stores a client, and removes the oldest unused ones if there are too many. Returns the time, in seconds. */
    const insert = traced("Clients.insert")(function* (
      id: string,
      secretHash: Uint8Array | null,
      { client_name, redirect_uris }: ClientMetadata
    ) {
      const [made] = yield* sql<{ issued_at: number }>`
        INSERT INTO oauth_clients (client_id, secret_hash, metadata, expires_at)
        SELECT ${id}, ${secretHash}::bytea, ${JSON.stringify({ client_name, redirect_uris })}, now + make_interval(days => ${unusedDays}::integer)
        FROM memory_now() AS now
        RETURNING floor(extract(epoch FROM expires_at - make_interval(days => ${unusedDays}::integer)))::float8
          AS issued_at
      `
      yield* sql`
        DELETE FROM oauth_clients
        WHERE NOT is_used AND client_id IN (
          SELECT client_id
          FROM oauth_clients
          WHERE NOT is_used
          ORDER BY expires_at DESC
          OFFSET ${maxUnused}::integer
          LIMIT 100
        )
      `
      return made!.issued_at
    }, refine)

    const stored = traced("Clients.stored")(function* (id: string) {
      if (!isRegisteredId(id)) return undefined
      const [found] = yield* sql<{ secretHash: Uint8Array | null; metadata: string }>`
        SELECT secret_hash AS "secretHash", metadata
        FROM oauth_clients
        WHERE client_id = ${id} AND expires_at > memory_now()
      `
      return found
    }, refine)

    /** Keeps the registration of a client that was given tokens for as long as they can be refreshed. */
    const keep = traced("Clients.keep")(function* (id: string) {
      if (!isRegisteredId(id)) return
      yield* sql`
        UPDATE oauth_clients
        SET is_used = true, expires_at = memory_now() + make_interval(days => ${keptDays}::integer)
        WHERE client_id = ${id} AND expires_at < memory_now() + make_interval(days => ${keptDays - 1}::integer)
      `
    }, refine)

    const prune = makePrune(sql, "Clients", {
      table: "oauth_clients",
      key: "client_id",
      due: sql`expires_at <= (SELECT memory_now())`,
      oldest: "expires_at"
    })

    /** Registers a client (RFC 7591), within the limit per client IP. Only this response has the secret. */
    const register = traced("Clients.register")(function* (given: unknown, ip: string) {
      const metadata = yield* Effect.fromResult(readMetadata(given))
      yield* throttle.spend([{ bucket: `register:ip:${ip}`, perHour: limits.registrationsPerIpPerHour }])
      const id = yield* tokens.secret
      const secret = metadata.token_endpoint_auth_method === "none" ? undefined : yield* tokens.secret
      const secretHash = secret === undefined ? null : yield* tokens.hash(secret)
      const issuedAt = yield* insert(id, secretHash, metadata)
      return {
        ...metadata,
        client_id: id,
        client_id_issued_at: issuedAt,
        ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 as const })
      }
    })

    const find = traced("Clients.find")(function* (clientId: string, ip: string) {
      if (isDocumentId(clientId)) {
        return cimd ? yield* documents.find(clientId, ip) : yield* new ClientUnknown({ detail: documentsOff })
      }
      const found = yield* stored(clientId)
      if (found === undefined) return yield* new ClientUnknown({ detail: unknown })
      const metadata: Pick<ClientMetadata, "client_name" | "redirect_uris"> = JSON.parse(found.metadata)
      // Earlier releases may have accepted other URIs.
      const redirectUris = metadata.redirect_uris.filter((uri) => redirectFault(uri) === undefined)
      const name = shownName(metadata.client_name, redirectUris)
      return { id: clientId, name, redirectUris, isDocument: false }
    })

    /**
     * Checks a client's secret, or that it has none. Documents are not fetched: PKCE authenticates their clients. The response
     * to an unknown client is 401, after which clients register again.
     */
    const authenticate = traced("Clients.authenticate")(function* (given: {
      readonly clientId: string
      readonly secret: string | undefined
    }) {
      const refuse = (detail: string) => oauthProblem("invalid_client", detail)
      // Some clients without a secret send an empty one.
      const secret = given.secret === "" ? undefined : given.secret
      const unexpected = () => refuse("This client has no secret. Send none.")
      if (isDocumentId(given.clientId)) {
        if (!cimd) return yield* refuse(documentsOff)
        const fault = documentIdFault(given.clientId)
        if (fault !== undefined) return yield* refuse(fault)
        return secret === undefined ? undefined : yield* unexpected()
      }
      const found = yield* stored(given.clientId)
      if (found === undefined) return yield* refuse(unknown)
      const { secretHash } = found
      if (secretHash === null) return secret === undefined ? undefined : yield* unexpected()
      if (secret === undefined) return yield* refuse("This client has to send the secret it was registered with.")
      if (!timingSafeEqual(secretHash, yield* tokens.hash(secret))) return yield* refuse("The client secret is wrong.")
    })

    return { register, find, authenticate, keep, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make).pipe(
    Layer.provide([ClientDocuments.layer, SignInThrottle.layer, Tokens.layer])
  )
}
