import { Context, Effect, Layer, Option } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import type { Connection } from "../../domain/Connection.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { accessTokenPrefix, accountOfToken } from "../../domain/Token.ts"
import { Settings } from "../Config.ts"
import { LastUses } from "../keys/LastUses.ts"
import type { Reader } from "../keys/Admission.ts"
import { Tokens } from "../Tokens.ts"
import { ConnectionsRepo, type OpenConnection } from "./ConnectionsRepo.ts"
import { mcpResource } from "./Resource.ts"

/** A connection whose access token was shown, and whose account it opens. */
export interface AuthenticatedConnection extends OpenConnection {
  readonly accountId: AccountId
}

/** A connection, as of the admission of one of its requests. */
export interface AdmittedConnection extends AuthenticatedConnection, Reader {
  readonly accountId: AccountId
}

/** The clients that accounts let in over OAuth. */
export class Connections extends Context.Service<
  Connections,
  {
    /** Those in force, oldest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Connection>, Unavailable>
    /** Gives how many were ended: 0 for an id that is unknown, or over already. Its tokens open nothing from then on. */
    readonly revoke: (accountId: AccountId, id: string) => Effect.Effect<number, Unavailable>
    /** Whose access token it is. None tells nothing of why: unknown, over, revoked, or for another address. */
    readonly authenticate: (token: string) => Effect.Effect<Option.Option<AuthenticatedConnection>, Unavailable>
    /** Forgets a batch of connections that are over, with their tokens; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/Connections") {
  static readonly layerNoDeps = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const repo = yield* ConnectionsRepo
      const tokens = yield* Tokens
      const lastUses = yield* LastUses
      const { baseUrl } = yield* Settings

      const authenticate = Effect.fn("Connections.authenticate")(function* (token: string) {
        const accountId = Option.getOrUndefined(accountOfToken(token, accessTokenPrefix))
        if (accountId === undefined) return Option.none<AuthenticatedConnection>()
        const found = yield* repo.open(accountId, yield* tokens.hash(token), mcpResource(baseUrl))
        return Option.map(found, (connection): AuthenticatedConnection => {
          lastUses.note("connection", accountId, connection.id, connection.now)
          return { ...connection, accountId }
        })
      })

      return Connections.of({
        list: Effect.fn("Connections.list")(repo.list),
        revoke: Effect.fn("Connections.revoke")(repo.revoke),
        authenticate,
        prune: repo.prune
      })
    })
  )

  static readonly layer = Connections.layerNoDeps.pipe(
    Layer.provide([ConnectionsRepo.layer, LastUses.layer, Tokens.layer])
  )
}
