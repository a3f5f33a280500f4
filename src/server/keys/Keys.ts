import { Context, Effect, Layer, Option } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import * as Key from "../../domain/Key.ts"
import { maxQueryLimit } from "../../domain/Limits.ts"
import type { KeyPlace } from "../../domain/KeyCursor.ts"
import { KeyLimit, RateLimited, type Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { transact } from "../sql/SqlFailure.ts"
import { KeysRepo } from "./KeysRepo.ts"

/** An account's API keys. Their text is shown once and kept as SHA-256 only. */
export class Keys extends Context.Service<
  Keys,
  {
    /** The account's keys behind a place, or from the first, at most `limit`: oldest first, the revoked ones too. */
    readonly list: (
      accountId: AccountId,
      page?: { readonly limit: number; readonly after?: KeyPlace | undefined }
    ) => Effect.Effect<ReadonlyArray<Key.ApiKey>, Unavailable>
    readonly create: (
      accountId: AccountId,
      name: string
    ) => Effect.Effect<Key.CreatedApiKey, KeyLimit | RateLimited | Unavailable>
    /** {@link create} without its limits: a sign-in is never refused for keys made earlier. */
    readonly issue: (accountId: AccountId, name: string) => Effect.Effect<Key.CreatedApiKey, Unavailable>
    /** Gives how many keys were revoked: 0 for an id that is unknown, or revoked already. */
    readonly revoke: (accountId: AccountId, id: string) => Effect.Effect<number, Unavailable>
    /** Removes keys that were revoked long ago, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/keys/Keys") {
  static readonly layerNoDeps = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* KeysRepo
      const random = yield* SecureRandom.SecureRandom
      const digest = yield* Digest.Digest
      const { limits } = yield* Settings

      const issue = Effect.fn("Keys.issue")(function* (accountId: AccountId, name: string) {
        const text = Key.make(accountId, yield* random.randomBytes(Key.secretBytes))
        const record = yield* repo.insert({
          accountId,
          id: Key.KeyId.make(yield* random.uuidV4()),
          name,
          prefix: Key.prefix(text),
          hash: yield* digest.digest(Digest.sha256, new TextEncoder().encode(text))
        })
        return { ...record, api_key: text }
      })

      const create = Effect.fn("Keys.create")(function* (accountId: AccountId, name: string) {
        yield* repo.lockAccount(accountId)
        const active = yield* repo.countActive(accountId)
        if (active >= limits.activeKeys) {
          return yield* new KeyLimit({
            detail: `The account has ${active} active keys and may have ${limits.activeKeys}.`,
            limit: limits.activeKeys,
            current: active
          })
        }
        const wait = yield* repo.waitFor(accountId, limits.keysPerHour)
        if (Option.isSome(wait)) {
          return yield* new RateLimited({
            detail: `The account has made ${limits.keysPerHour} keys in the last hour, which is as many as it may.`,
            hint: "Wait `retry_after` seconds. One key serves an application for as long as it runs.",
            limit: limits.keysPerHour,
            retry_after: wait.value
          })
        }
        return yield* issue(accountId, name)
      }, transact(sql))

      const list: Keys["Service"]["list"] = Effect.fn("Keys.list")((accountId, page = { limit: maxQueryLimit }) =>
        repo.list(accountId, page.after, page.limit)
      )

      const revoke = Effect.fn("Keys.revoke")(function* (accountId: AccountId, id: string) {
        return Option.isSome(yield* repo.revoke(accountId, id)) ? 1 : 0
      })

      return Keys.of({ list, create, issue, revoke, prune: (rows) => repo.prune(limits.revokedKeyDays, rows) })
    })
  )

  static readonly layer = Keys.layerNoDeps.pipe(Layer.provide(KeysRepo.layer))
}
