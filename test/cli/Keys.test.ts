import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newestMigration } from "../../src/server/sql/Migrations.ts"
import { agentMemory } from "../support/CommandLine.ts"
import { DatabaseLayer, DatabaseUrl } from "../support/Database.ts"
import { call, emptyDatabase, makeFolder, startService } from "../support/ServiceProcess.ts"

const accountOf = (key: string) => key.split("_")[2]

layer(DatabaseLayer, { excludeTestServices: true, timeout: "60 seconds" })("keys create", (it) => {
  it.effect("makes a key that works at once beside a running service, and prints nothing else to a pipe", () =>
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      const variables = { DATABASE_URL: url }
      const service = yield* startService(variables)
      const create = (...args: ReadonlyArray<string>) => agentMemory(["keys", "create", ...args], { variables })
      const first = yield* create("--email", " Ada@Example.com ", "--name", "shop, staging")
      assert.strictEqual(first.code, 0, first.errors)
      assert.match(first.out, /^svc_live_[a-z2-7]{20}_[0-9A-Za-z]{43}\n$/)
      const key = first.out.trim()
      assert.include(first.errors, `A key named "shop, staging" for account ${accountOf(key)}.`)
      assert.notInclude(first.errors, key)
      const { text } = yield* call(`${service.url}/v1/_usage`, { key })
      assert.deepInclude(JSON.parse(text), { tables: 0, rows: 0 })
      const second = yield* create("--email", "ada@example.com")
      assert.strictEqual(accountOf(second.out), accountOf(key))
      const other = yield* create("--email", "grace@example.com")
      assert.notStrictEqual(accountOf(other.out), accountOf(key))
    })
  )

  it.effect("is refused where the account has as many keys as it may have", () =>
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      const variables = { DATABASE_URL: url, LIMIT_ACTIVE_KEYS: "1" }
      const create = agentMemory(["keys", "create", "--email", "full@example.com"], { variables })
      assert.strictEqual((yield* create).code, 0)
      const refused = yield* create
      assert.deepStrictEqual([refused.code, refused.out], [1, ""])
      assert.include(refused.errors, "No key was created. The account has 1 active keys. At most 1 are allowed.")
    })
  )

  it.effect("works on the embedded database, whether or not a service holds it", () =>
    Effect.gen(function* () {
      const variables = { DATA_DIR: yield* makeFolder }
      const create = agentMemory(["keys", "create", "--email", "ada@example.com"], { variables })
      const alone = yield* create
      assert.strictEqual(alone.code, 0, alone.errors)
      const service = yield* startService(variables)
      const beside = yield* create
      assert.strictEqual(beside.code, 0, beside.errors)
      for (const { out } of [alone, beside]) {
        assert.strictEqual((yield* call(`${service.url}/v1/_tables`, { key: out.trim() })).status, 200)
      }
      assert.strictEqual(accountOf(beside.out), accountOf(alone.out))
      // The service's database went on while the command came and went.
      const migrated = yield* agentMemory(["migrate"], { variables })
      assert.include(migrated.out, "The database is up to date")
      assert.strictEqual((yield* call(`${service.url}/ready`)).status, 200)
    })
  )

  it.effect("is followed by list, which shows the account's keys, and revoke, which ends one", () =>
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      const service = yield* startService({ DATABASE_URL: url })
      const create = (name: string) =>
        agentMemory(["keys", "create", "--email", "list@example.com", "--name", name], {
          variables: { DATABASE_URL: url }
        })
      const [first, second] = [yield* create("shop"), yield* create("\u001b[2Jstaging")]
      const variables = { AGENT_MEMORY_URL: service.url, AGENT_MEMORY_API_KEY: first.out.trim() }
      const listed = yield* agentMemory(["keys", "list"], { variables })
      assert.strictEqual(listed.code, 0, listed.errors)
      const [shop = "", staging = "", ...others] = listed.out.split("\n")
      assert.match(shop, /^[0-9a-f-]{36} {2}svc_live_\S+… {2}created \S+Z {2}(?:never )?used.* {2}shop$/)
      assert.include(staging, String.raw`\u001b[2Jstaging`)
      assert.deepStrictEqual(others, [""])
      assert.notInclude(listed.out, second.out.trim())
      const id = staging.split(" ")[0]!
      const revoked = yield* agentMemory(["keys", "revoke", id], { variables })
      assert.deepStrictEqual([revoked.code, revoked.out, revoked.errors], [0, `Revoked ${id}.\n`, ""])
      assert.strictEqual((yield* call(`${service.url}/v1/_tables`, { key: second.out.trim() })).status, 401)
      const again = yield* agentMemory(["keys", "revoke", id], { variables })
      assert.deepStrictEqual([again.code, again.errors], [1, `The account has no active key with the id ${id}.\n`])
      assert.match((yield* agentMemory(["keys", "list"], { variables })).out, / {2}revoked \S+Z {2}/)
    })
  )

  it.effect("finds an empty database brought up to date by migrate, as often as it is run", () =>
    Effect.gen(function* () {
      const variables = { DATABASE_URL: yield* emptyDatabase }
      for (let round = 0; round < 2; round++) {
        const { code, out } = yield* agentMemory(["migrate"], { variables })
        assert.strictEqual(code, 0)
        assert.include(out, `${newestMigration}. Data is kept in the PostgreSQL database of DATABASE_URL.`)
      }
    })
  )
})
