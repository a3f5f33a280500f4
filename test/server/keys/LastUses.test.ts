import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../src/domain/Account.ts"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { LastUses } from "../../../src/server/keys/LastUses.ts"
import { untilWaiting } from "../../support/HeldAccount.ts"
import { secondPool } from "../../support/SignInServices.ts"
import { InfrastructureLayer, newKey } from "./LimiterCases.ts"

const usedAt = Effect.fnUntraced(function* (accountId: AccountId) {
  const [key] = yield* (yield* Keys).list(wholeAccount(accountId))
  return key!.last_used_at
})

const suite = Keys.layer.pipe(Layer.provideMerge(InfrastructureLayer))

layer(suite, { excludeTestServices: true })("Last uses", (it) => {
  it.effect("are written when the service stops", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* newKey, yield* newKey]
      const scope = yield* Scope.make()
      const uses = Context.get(yield* Layer.buildWithScope(Layer.fresh(LastUses.layer), scope), LastUses)
      uses.note("key", first.accountId, first.id, new Date("2030-01-01T00:00:00Z"))
      uses.note("key", second.accountId, second.id, new Date("2030-01-01T00:00:01Z"))
      uses.note("key", second.accountId, second.id, new Date("2030-01-01T00:00:02Z"))
      assert.isNull(yield* usedAt(first.accountId))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* usedAt(first.accountId), "2030-01-01T00:00:00.000Z")
      assert.strictEqual(yield* usedAt(second.accountId), "2030-01-01T00:00:02.000Z")
    })
  )

  it.effect("are left out while something else holds their key", () =>
    Effect.gen(function* () {
      const other = Context.get(yield* Layer.build(yield* secondPool), SqlClient.SqlClient)
      const [held, free] = [yield* newKey, yield* newKey]
      const uses = Context.get(yield* Layer.build(Layer.fresh(LastUses.layer)), LastUses)
      for (const { accountId, id } of [held, free]) uses.note("key", accountId, id, new Date("2030-01-01T00:00:00Z"))
      yield* other`SELECT FROM api_keys WHERE account_id = ${held.accountId} FOR UPDATE`.pipe(
        Effect.andThen(uses.write),
        other.withTransaction
      )
      assert.isNull(yield* usedAt(held.accountId))
      assert.isNotNull(yield* usedAt(free.accountId))
    })
  )

  it.effect("that are noted while earlier ones are written are written next", () =>
    Effect.gen(function* () {
      const other = Context.get(yield* Layer.build(yield* secondPool), SqlClient.SqlClient)
      const { accountId, id } = yield* newKey
      const uses = Context.get(yield* Layer.build(Layer.fresh(LastUses.layer)), LastUses)
      uses.note("key", accountId, id, new Date("2030-01-01T00:00:00Z"))
      const writing = yield* other.withTransaction(
        Effect.gen(function* () {
          yield* other`LOCK TABLE api_keys IN SHARE MODE`
          const writing = yield* Effect.forkScoped(uses.write)
          yield* untilWaiting
          uses.note("key", accountId, id, new Date("2030-01-01T00:01:00Z"))
          return writing
        })
      )
      yield* Fiber.join(writing)
      yield* uses.write
      assert.strictEqual(yield* usedAt(accountId), "2030-01-01T00:01:00.000Z")
    })
  )
})
