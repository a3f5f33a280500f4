import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { backup, backupRow, fullBackup } from "../support/Backups.ts"
import { agentMemory } from "../support/CommandLine.ts"
import { DatabaseLayer } from "../support/Database.ts"
import { nobodysUrl, withFaults } from "../support/FaultyServer.ts"
import { another, exported, fakeService, given, Running, small } from "./Transfers.ts"

layer(Running.layer.pipe(Layer.provideMerge(DatabaseLayer)), {
  excludeTestServices: true,
  timeout: "120 seconds"
})("export and import", (it) => {
  it.effect("end with 1 and the service's own words where it refuses, with nothing changed", () =>
    Effect.gen(function* () {
      const { key, variables } = yield* given("refused", small)
      const refused = yield* agentMemory(["import", "-"], { variables, input: small })
      assert.deepStrictEqual([refused.code, refused.out], [1, ""])
      assert.include(refused.errors, "3 of the rows to import have ids that the account has already. (id_exists)")
      assert.include(refused.errors, "  /tables/notes/0/id is the id of a row of the table notes")
      assert.match(refused.errors, /^Request [0-9a-f-]{36}$/m)
      const broken = yield* agentMemory(["import", "-"], { variables, input: '{"tables":{"a":[{"id":1}]}}' })
      assert.include(broken.errors, "/tables/a/0/id must be the row's id, a UUID in lower case")
      const cut = yield* agentMemory(["import", "-", "--format", "ndjson"], {
        variables,
        input: `{"table":"a","row":${backupRow(9)}}\n{"table":"a","row":{"id"`
      })
      assert.include(cut.errors, "Line 2 cannot be imported: ")
      const shape = yield* agentMemory(["import", "-", "--format", "ndjson"], { variables, input: '{"rows":[]}' })
      assert.include(shape.errors, 'Line 1 cannot be imported: expected {"table":"…","row":{…}}')
      const missing = yield* agentMemory(["import", "none.json"], { variables })
      assert.include(missing.errors, "none.json cannot be read: ENOENT")
      assert.strictEqual(yield* exported(key), small)
    })
  )

  it.effect("say once what is wrong with an import that is not JSON", () =>
    Effect.gen(function* () {
      const variables = yield* another("broken")
      const { code, errors } = yield* agentMemory(["import", "-"], { variables, input: '{"tables":{"a":[oops]}}' })
      assert.strictEqual(code, 1)
      assert.lengthOf(errors.match(/oops|line 1/gi) ?? [], 1, errors)
    })
  )

  it.effect("replace no file that is there already, unless they are told to", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("there", small)
      writeFileSync(join(folder, "backup.json"), "yesterday's")
      const refused = yield* agentMemory(["export", "-o", "backup.json"], { variables, folder })
      assert.deepStrictEqual([refused.code, refused.out], [1, ""])
      assert.strictEqual(refused.errors, "backup.json already exists. Pass --force to replace it.\n")
      assert.strictEqual(readFileSync(join(folder, "backup.json"), "utf8"), "yesterday's")
      const forced = yield* agentMemory(["export", "-o", "backup.json", "--force"], { variables, folder })
      assert.strictEqual(forced.code, 0, forced.errors)
      assert.strictEqual(readFileSync(join(folder, "backup.json"), "utf8"), small)
    })
  )

  it.effect("leave no half of a file behind where the service is away or is none", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("away", small)
      writeFileSync(join(folder, "backup.json"), "yesterday's")
      const args = ["export", "-o", "backup.json", "--force"]
      const away = yield* agentMemory([...args, "--url", nobodysUrl], { variables, folder })
      assert.deepStrictEqual([away.code, away.out], [1, ""])
      assert.include(away.errors, `The service at ${nobodysUrl} cannot be reached: ECONNREFUSED.`)
      const other = yield* fakeService(() => [200, "<html>"])
      const none = yield* agentMemory([...args, "--url", other.url], { variables, folder })
      assert.include(none.errors, `The service at ${other.url} is not Agent Memory.`)
      const usage = '{"rows":1,"storage_bytes":1,"limits":{},"remaining":{}}'
      const half = yield* fakeService((path) => [200, path === "/v1/_usage" ? usage : small.slice(0, -9)])
      const cut = yield* agentMemory([...args, "--url", half.url], { variables, folder })
      assert.deepStrictEqual([cut.code, cut.errors], [1, "The service's response is not an export.\n"])
      assert.strictEqual(readFileSync(join(folder, "backup.json"), "utf8"), "yesterday's")
      assert.deepStrictEqual(readdirSync(folder), ["backup.json"])
    })
  )

  it.effect("keep the old file whole and leave nothing beside it where the new one cannot be written", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("full-disk", fullBackup(1, 10, 4000))
      writeFileSync(join(folder, "backup.json"), "yesterday's")
      const { code, errors, out } = yield* agentMemory(["export", "-o", "backup.json", "--force"], {
        variables,
        folder,
        fileBlocks: 8
      })
      assert.deepStrictEqual([code, out], [1, ""])
      assert.match(errors, /^backup\.json cannot be written: EFBIG/)
      assert.deepStrictEqual(readdirSync(folder), ["backup.json"])
      assert.strictEqual(readFileSync(join(folder, "backup.json"), "utf8"), "yesterday's")
    })
  )

  it.effect("store rows once when the connection is cut after the import was carried out", () =>
    Effect.gen(function* () {
      const { url: target } = yield* Running
      const { AGENT_MEMORY_API_KEY: key } = yield* another("cut-import")
      const imported = yield* Effect.promise(() =>
        // The first request asks what the account holds.
        withFaults({ faults: [{ kind: "none" }, { kind: "reset after" }], target }, (url, seen) =>
          Effect.runPromise(
            agentMemory(["import", "-"], {
              variables: { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url },
              input: small
            })
          ).then((ran) => ({ ran, keys: seen.slice(1).map(({ idempotencyKey }) => idempotencyKey) }))
        )
      )
      assert.strictEqual(imported.ran.code, 0, imported.ran.errors)
      assert.include(imported.ran.out, "Imported 2 tables, 3 rows")
      assert.lengthOf(imported.keys, 2)
      assert.match(imported.keys[0] ?? "", /^[0-9a-f-]{36}$/)
      assert.strictEqual(imported.keys[1], imported.keys[0])
      assert.strictEqual(yield* exported(key), small)
    })
  )

  it.effect("wait as a busy service asks, and then go on", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("busy", small)
      const busy = yield* fakeService((path, count) => {
        if (count === 1 || count === 3) return [503, '{"code":"unavailable"}']
        return [200, path === "/v1/_usage" ? '{"rows":1,"storage_bytes":1,"limits":{},"remaining":{}}' : small]
      })
      const { code, errors } = yield* agentMemory(["export", "-o", "all.json", "--url", busy.url], {
        variables,
        folder
      })
      assert.strictEqual(code, 0, errors)
      assert.strictEqual(busy.count(), 4)
      assert.include(errors, "The service is busy (503); trying again in 1 s.")
    })
  )

  it.effect("say before sending it that an import is larger than the service takes", () =>
    Effect.gen(function* () {
      const variables = yield* another("large")
      const input = backup({ a: [backupRow(1, `"t":"${"x".repeat(34_000_000)}"`)] })
      const { code, errors } = yield* agentMemory(["import", "-"], { variables, input })
      assert.strictEqual(code, 1)
      assert.include(errors, "The import has 32.4 MB; this service accepts 32.0 MB at once.")
    })
  )
})
