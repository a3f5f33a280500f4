import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { Versions } from "../../../src/server/versions/Versions.ts"
import { setClock } from "../../support/Database.ts"
import { actorNow, callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const json = JsonText.trusted
const idOf = (text: string) => (JSON.parse(text) as { id: string }).id

const held = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const [account] = yield* sql<{ versions: number; records: number }>`
    SELECT version_bytes::integer AS versions, idempotency_bytes::integer AS records
    FROM accounts
    WHERE account_id = ${accountId}
  `
  return account!
})

const numbersOf = Effect.fnUntraced(function* (accountId: string, id: string) {
  const versions = yield* Versions
  const { text } = yield* versions.list(yield* actorNow(accountId), "notes", id)
  return (JSON.parse(text) as { versions: ReadonlyArray<{ version: number }> }).versions.map((one) => one.version)
})

layer(servicesLayer({ LIMIT_VERSION_STORAGE_BYTES: "10000" }), { excludeTestServices: true })(
  "The archive's storage limit",
  (it) => {
    it.effect("lets the oldest versions go, each row's newest last", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const rowWrites = yield* Writes
        const text = "x".repeat(500)
        const write = Effect.fnUntraced(function* (id: string, n: number) {
          const patch = json(`{"n":${n},"text":"${text}"}`)
          yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), { action: "update_row", id, patch })
        })
        const ids: Array<string> = []
        for (let n = 0; n < 4; n++) {
          yield* setClock(`${n} minutes`)
          const added = yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
            action: "add",
            row: json(`{"n":0,"text":"${text}"}`)
          })
          ids.push(idOf(added.body.text))
          yield* write(ids[n]!, 1)
        }
        const [oldest, removed, third, busy] = ids as [string, string, string, string]
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
          action: "delete",
          filter: json(`{"id":"${removed}"}`)
        })
        yield* write(third, 2)
        for (let n = 2; n <= 10; n++) {
          yield* setClock(`${3 + n} minutes`)
          yield* write(busy, n)
        }
        assert.deepStrictEqual(yield* numbersOf(accountId, busy), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
        // Eight more rows' versions are over the limit.
        for (let n = 0; n < 8; n++) {
          yield* setClock(`${20 + n} minutes`)
          const added = yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
            action: "add",
            row: json(`{"n":0,"text":"${text}"}`)
          })
          yield* write(idOf(added.body.text), 1)
        }
        // Room is made right after the write that needed it, before the account's next one.
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
          action: "delete",
          filter: json('{"n":77}')
        })
        assert.isAtMost((yield* held(accountId)).versions, 10_000)
        assert.deepStrictEqual(yield* numbersOf(accountId, oldest), [1])
        assert.deepStrictEqual(yield* numbersOf(accountId, removed), [2])
        assert.deepStrictEqual(yield* numbersOf(accountId, third), [2])
        const kept = yield* numbersOf(accountId, busy)
        assert.isAbove(kept.length, 5)
        assert.deepStrictEqual(kept, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].slice(0, kept.length))
        assert.isUndefined(yield* countersFault(accountId))
        const restore = { action: "restore", id: removed, version: 2 } as const
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), restore)
      })
    )

    it.effect("keeps nothing of a row that alone is larger, and refuses no write for it", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const rowWrites = yield* Writes
        const row = json(`{"text":"${"x".repeat(12_000)}"}`)
        const added = yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), { action: "add", row })
        const id = idOf(added.body.text)
        for (let n = 1; n <= 3; n++) {
          const patch = json(`{"n":${n}}`)
          yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), { action: "update_row", id, patch })
        }
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
          action: "delete",
          filter: json('{"n":77}')
        })
        assert.strictEqual((yield* held(accountId)).versions, 0)
        const patch = json('{"text":""}')
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), { action: "update_row", id, patch })
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), { action: "update_row", id, patch })
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
          action: "delete",
          filter: json('{"n":77}')
        })
        assert.deepStrictEqual(yield* numbersOf(accountId, id), [5])
        assert.isUndefined(yield* countersFault(accountId))
      })
    )

    it.effect("costs no other row its versions when one version alone is larger", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const rowWrites = yield* Writes
        const write = Effect.fnUntraced(function* (write: Parameters<typeof rowWrites.write>[2]) {
          return yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), write)
        })
        const add = (row: string) => Effect.map(write({ action: "add", row: json(row) }), ({ body }) => idOf(body.text))
        const patch = (id: string, fields: string) => write({ action: "update_row", id, patch: json(fields) })
        const small = yield* add('{"n":0}')
        for (let n = 1; n <= 3; n++) yield* patch(small, `{"n":${n}}`)
        const large = yield* add('{"n":0}')
        yield* patch(large, `{"text":"${"x".repeat(12_000)}"}`)
        yield* patch(large, '{"text":""}')
        yield* patch(large, '{"n":1}')
        yield* write({ action: "delete", filter: json('{"n":77}') })
        assert.deepStrictEqual(yield* numbersOf(accountId, small), [3, 2, 1])
        assert.deepStrictEqual(yield* numbersOf(accountId, large), [3])
        assert.isUndefined(yield* countersFault(accountId))
      })
    )
  }
)

layer(servicesLayer({ LIMIT_IDEMPOTENCY_STORAGE_BYTES: "5000" }), { excludeTestServices: true })(
  "The storage limit of idempotency records",
  (it) => {
    it.effect("lets the oldest go: their keys make a new write, the others replay", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const rowWrites = yield* Writes
        const row = json(`{"text":"${"x".repeat(400)}"}`)
        for (let n = 0; n < 15; n++) {
          yield* setClock(`${n} minutes`)
          yield* rowWrites.write(...(yield* callerNow(accountId, "notes", `key ${n}`)), { action: "add", row })
        }
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
          action: "delete",
          filter: json('{"n":77}')
        })
        assert.isAtMost((yield* held(accountId)).records, 5000)
        const newest = yield* rowWrites.write(...(yield* callerNow(accountId, "notes", "key 14")), {
          action: "add",
          row
        })
        assert.isTrue(newest.replayed)
        const oldest = yield* rowWrites.write(...(yield* callerNow(accountId, "notes", "key 0")), {
          action: "add",
          row
        })
        assert.isFalse(oldest.replayed)
        assert.isUndefined(yield* countersFault(accountId))
      })
    )

    it.effect("keeps the others when one record alone is larger", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const rowWrites = yield* Writes
        const add = Effect.fnUntraced(function* (key: string, length: number) {
          const row = json(`{"text":"${"x".repeat(length)}"}`)
          return yield* rowWrites.write(...(yield* callerNow(accountId, "notes", key)), { action: "add", row })
        })
        yield* add("small", 10)
        yield* add("large", 6000)
        yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), {
          action: "delete",
          filter: json('{"n":77}')
        })
        assert.isTrue((yield* add("small", 10)).replayed)
        assert.isFalse((yield* add("large", 6000)).replayed)
        assert.isUndefined(yield* countersFault(accountId))
      })
    )
  }
)
