import { Context, Effect, Layer, Option } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import * as Key from "../../domain/Key.ts"
import { KeyLimit, type Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { transact } from "../sql/SqlFailure.ts"
import { KeysRepo } from "./KeysRepo.ts"

/** An account's API keys. Their text is shown once and kept as SHA-256 only. */
export class Keys extends Context.Service<
  Keys,
  {
    /** All keys of the account, the revoked ones too, oldest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Key.ApiKey>, Unavailable>
    readonly create: (accountId: AccountId, name: string) => Effect.Effect<Key.CreatedApiKey, KeyLimit | Unavailable>
    /** {@link create} without the limit on active keys: a sign-in is never refused for keys made earlier. */
    readonly issue: (accountId: AccountId, name: string) => Effect.Effect<Key.CreatedApiKey, Unavailable>
    /** Gives how many keys were revoked: 0 for an id that is unknown, or revoked already. */
    readonly revoke: (accountId: AccountId, id: string) => Effect.Effect<number, Unavailable>
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
        return yield* issue(accountId, name)
      }, transact(sql))

      const revoke = Effect.fn("Keys.revoke")(function* (accountId: AccountId, id: string) {
        return Option.isSome(yield* repo.revoke(accountId, id)) ? 1 : 0
      })

      return Keys.of({ list: Effect.fn("Keys.list")(repo.list), create, issue, revoke })
    })
  )

  static readonly layer = Keys.layerNoDeps.pipe(Layer.provide(KeysRepo.layer))
}
