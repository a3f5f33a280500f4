import { assert, it as plain, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { backup, backupRow, fullBackup } from "../support/Backups.ts"
import { agentMemory, hasTerminal, inTerminal } from "../support/CommandLine.ts"
import { DatabaseLayer, DatabaseUrl } from "../support/Database.ts"
import { withFaults } from "../support/FaultyServer.ts"
import { call, makeFolder, startService, type ServiceProcess } from "../support/ServiceProcess.ts"
import { signIn } from "../server/instances/TwoInstances.ts"

/** A service of its own process, that the commands of this file talk to. */
class Running extends Context.Service<Running, ServiceProcess>()("agent-memory/test/cli/Transfer/Running") {
  static readonly layer = Layer.effect(
    Running,
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      return yield* startService({ DATABASE_URL: url, LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "1000" })
    })
  )
}

/** An account with its rows, a folder, and the variables of whoever works there. */
const given = Effect.fnUntraced(function* (name: string, rows: string) {
  const { url } = yield* Running
  const key = yield* signIn(url, `${name}@example.com`)
  const imported = yield* call(`${url}/v1/_import`, { key, body: rows })
  assert.strictEqual(imported.status, 200, imported.text)
  const folder = yield* makeFolder
  return { key, folder, variables: { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url } }
})

/** Another account, as an environment. */
const another = Effect.fnUntraced(function* (name: string) {
  const { url } = yield* Running
  const key = yield* signIn(url, `${name}@example.com`)
  return { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url }
})

const exported = Effect.fnUntraced(function* (key: string) {
  const { url } = yield* Running
  return (yield* call(`${url}/v1/_export`, { key })).text
})

const odd = String.raw`"":1.10,"__proto__":12345678901234567890,"s":"\u0000\ud800 é","10":1e400,"o":{"b":[],"a":null}`
const small = backup({ notes: [backupRow(2, odd), backupRow(1)], tasks: [backupRow(3, '"n":1')] })

/** Answers every request in this way until the scope closes, and counts them. */
const fakeService = Effect.fnUntraced(function* (answer: (path: string, count: number) => readonly [number, string]) {
  let count = 0
  const server = yield* Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer((request, response) => {
        request.resume().on("end", () => {
          const [status, body] = answer(request.url ?? "", ++count)
          response.writeHead(status, { "content-type": "application/json", "retry-after": "1" }).end(body)
        })
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, count: () => count }
})

if (!hasTerminal) plain.skip("Progress in a terminal: no python3 to make one", () => undefined)

layer(Running.layer.pipe(Layer.provideMerge(DatabaseLayer)), {
  excludeTestServices: true,
  timeout: "120 seconds"
})("export and import", (it) => {
  it.effect("write the exact bytes of the service to a pipe and to a file, and say how much on standard error", () =>
    Effect.gen(function* () {
      const { folder, key, variables } = yield* given("exact", small)
      const piped = yield* agentMemory(["export"], { variables })
      assert.strictEqual(piped.code, 0, piped.errors)
      assert.strictEqual(piped.out, yield* exported(key))
      assert.strictEqual(piped.out, small)
      assert.strictEqual(piped.errors, `Exported 2 tables, 3 rows, ${Buffer.byteLength(small)} bytes.\n`)
      const saved = yield* agentMemory(["export", "--output", "backup.json"], { variables, folder })
      assert.deepStrictEqual([saved.code, saved.out], [0, ""])
      assert.strictEqual(readFileSync(join(folder, "backup.json"), "utf8"), small)
      assert.strictEqual(statSync(join(folder, "backup.json")).mode & 0o777, 0o600)
      assert.deepStrictEqual(readdirSync(folder), ["backup.json"])
    })
  )

  it.effect("move an account as JSON and as NDJSON, from a file and from a pipe", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("moved", small)
      yield* agentMemory(["export", "-o", "all.json"], { variables, folder })
      yield* agentMemory(["export", "-o", "all.ndjson"], { variables, folder })
      const lines = readFileSync(join(folder, "all.ndjson"), "utf8")
      assert.strictEqual(lines.split("\n")[0], `{"table":"notes","row":${backupRow(2, odd)}}`)
      assert.strictEqual(lines.split("\n").length, 4)
      const ways = [
        { args: ["import", "all.json"] },
        { args: ["import", "all.ndjson"] },
        { args: ["import", "-"], input: small },
        { args: ["import", "-", "--format", "ndjson"], input: `\n${lines.replaceAll("\n", "\r\n")}\n` }
      ]
      for (const [index, { args, input = "" }] of ways.entries()) {
        const target = yield* another(`target${index}`)
        const { code, errors, out } = yield* agentMemory(args, { variables: target, folder, input })
        assert.strictEqual(code, 0, errors)
        assert.match(out, /^Imported 2 tables, 3 rows, \d+ bytes, into account [a-z2-7]{20}\.\n$/)
        assert.strictEqual(errors, "")
        assert.strictEqual(yield* exported(target.AGENT_MEMORY_API_KEY), small)
      }
    })
  )

  it.effect("take the key from a file, and only say what would be with --dry-run", () =>
    Effect.gen(function* () {
      const { url } = yield* Running
      const folder = yield* makeFolder
      const { AGENT_MEMORY_API_KEY: key } = yield* another("dry")
      writeFileSync(join(folder, "key"), `${key}\n`)
      writeFileSync(join(folder, "all.json"), small)
      const args = ["import", "all.json", "--url", url, "--api-key-file", "key"]
      const dry = yield* agentMemory([...args, "--dry-run"], { folder })
      assert.strictEqual(dry.code, 0, dry.errors)
      assert.match(dry.out, /^Would import 2 tables, 3 rows, .*\nNothing was changed\.\n$/)
      assert.strictEqual(yield* exported(key), '{"tables":{}}')
      assert.strictEqual((yield* agentMemory(args, { folder })).code, 0)
      assert.strictEqual(yield* exported(key), small)
    })
  )

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

  it.effect("leave no half of a file behind where the service is away or is none", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("away", small)
      writeFileSync(join(folder, "backup.json"), "yesterday's")
      const args = ["export", "-o", "backup.json"]
      const away = yield* agentMemory([...args, "--url", "http://127.0.0.1:1"], { variables, folder })
      assert.deepStrictEqual([away.code, away.out], [1, ""])
      assert.include(away.errors, "The service at http://127.0.0.1:1 cannot be reached: ECONNREFUSED.")
      const other = yield* fakeService(() => [200, "<html>"])
      const none = yield* agentMemory([...args, "--url", other.url], { variables, folder })
      assert.include(none.errors, `What answers at ${other.url} is not Agent Memory.`)
      const usage = '{"rows":1,"storage_bytes":1,"limits":{}}'
      const half = yield* fakeService((path) => [200, path === "/v1/_usage" ? usage : small.slice(0, -9)])
      const cut = yield* agentMemory([...args, "--url", half.url], { variables, folder })
      assert.deepStrictEqual([cut.code, cut.errors], [1, "The service answered something else than an export.\n"])
      assert.strictEqual(readFileSync(join(folder, "backup.json"), "utf8"), "yesterday's")
      assert.deepStrictEqual(readdirSync(folder), ["backup.json"])
    })
  )

  it.effect("keep the old file whole and leave nothing beside it where the new one cannot be written", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("full-disk", fullBackup(1, 10, 4000))
      writeFileSync(join(folder, "backup.json"), "yesterday's")
      const { code, errors, out } = yield* agentMemory(["export", "-o", "backup.json"], {
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

  it.effect(
    "write through a link to its file, which only its owner may read, and into a pipe without replacing it",
    () =>
      Effect.gen(function* () {
        const { folder, variables } = yield* given("links", small)
        writeFileSync(join(folder, "real.json"), "yesterday's", { mode: 0o644 })
        symlinkSync("real.json", join(folder, "link.json"))
        // Somebody else's, were the name one to be guessed.
        writeFileSync(join(folder, "real.json.part"), "", { mode: 0o666 })
        assert.strictEqual((yield* agentMemory(["export", "-o", "link.json"], { variables, folder })).code, 0)
        assert.strictEqual(readlinkSync(join(folder, "link.json")), "real.json")
        assert.strictEqual(readFileSync(join(folder, "real.json"), "utf8"), small)
        assert.strictEqual(statSync(join(folder, "real.json")).mode & 0o777, 0o600)
        assert.deepStrictEqual(readdirSync(folder), ["link.json", "real.json", "real.json.part"])
        spawnSync("mkfifo", [join(folder, "pipe")])
        const [sent, received] = yield* Effect.all(
          [
            agentMemory(["export", "-o", "pipe"], { variables, folder }),
            Effect.promise(() => readFile(join(folder, "pipe"), "utf8"))
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([sent.code, received], [0, small], sent.errors)
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

  it.effect("take a file behind a byte order mark, and say what is wrong with an empty one or one in UTF-16", () =>
    Effect.gen(function* () {
      const variables = yield* another("encodings")
      const line = `{"table":"a","row":${backupRow(1)}}\n`
      const files: ReadonlyArray<readonly [name: string, bytes: Uint8Array, told: string]> = [
        ["empty.json", Buffer.from("\ufeff"), "empty.json is empty: it holds a byte order mark and nothing else.\n"],
        [
          "empty.ndjson",
          Buffer.from("\ufeff"),
          "empty.ndjson is empty: it holds a byte order mark and nothing else.\n"
        ],
        [
          "utf16.json",
          Buffer.from(`\ufeff${small}`, "utf16le"),
          "utf16.json is encoded in UTF-16. Convert it to UTF-8.\n"
        ],
        ["utf16.ndjson", Buffer.from(line, "utf16le"), "utf16.ndjson is encoded in UTF-16. Convert it to UTF-8.\n"]
      ]
      const folder = yield* makeFolder
      for (const [name, bytes, told] of files) {
        writeFileSync(join(folder, name), bytes)
        const { code, errors, out } = yield* agentMemory(["import", name], { variables, folder })
        assert.deepStrictEqual([code, out, errors], [1, "", told])
      }
      for (const [name, text] of [
        ["marked.json", `\ufeff${backup({ b: [backupRow(2)] })}`],
        ["marked.ndjson", `\ufeff${line}`]
      ] as const) {
        writeFileSync(join(folder, name), text)
        const { code, errors } = yield* agentMemory(["import", name], { variables, folder })
        assert.strictEqual(code, 0, errors)
      }
      const all = backup({ a: [backupRow(1)], b: [backupRow(2)] })
      assert.strictEqual(yield* exported(variables.AGENT_MEMORY_API_KEY), all)
    })
  )

  it.effect(
    "show no control character that a service or a row holds in a terminal, and all of them in a pipe",
    (context) =>
      Effect.gen(function* () {
        if (!hasTerminal) return context.skip("no python3 to make a terminal")
        const rows = backup({ notes: [backupRow(1, '"s":"\u007f\u009b31m\u202eé"')] })
        const { folder, variables } = yield* given("controls", rows)
        const shown = yield* inTerminal(80, ["export"], { variables, folder })
        assert.include(shown.out, String.raw`"s":"\u007f\u009b31m\u202eé"`)
        assert.strictEqual((yield* agentMemory(["export"], { variables })).out, rows)
        const liar = yield* fakeService(() => [403, '{"detail":"\\u001b]0;yours\\u0007 \\u009b2J","code":"forbidden"}'])
        const refused = yield* inTerminal(80, ["export", "--url", liar.url], { variables, folder })
        assert.include(refused.out, String.raw`The service refused: \u001b]0;yours\u0007 \u009b2J (forbidden)`)
      })
  )

  it.effect("wait as a busy service asks, and then go on", () =>
    Effect.gen(function* () {
      const { folder, variables } = yield* given("busy", small)
      const busy = yield* fakeService((path, count) => {
        if (count === 1 || count === 3) return [503, '{"code":"unavailable"}']
        return [200, path === "/v1/_usage" ? '{"rows":1,"storage_bytes":1,"limits":{}}' : small]
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
      assert.include(errors, "The import has 32.4 MB; this service takes 32.0 MB at once.")
    })
  )

  for (const columns of hasTerminal ? [80, 40] : []) {
    it.effect(`draw their progress in a terminal of ${columns} columns, and leave nothing of it`, () =>
      Effect.gen(function* () {
        const all = fullBackup(4, 500, 4000)
        const folder = yield* makeFolder
        writeFileSync(join(folder, "all.json"), all)
        const variables = yield* another(`terminal${columns}`)
        const imported = yield* inTerminal(columns, ["import", "all.json"], { variables, folder })
        assert.strictEqual(imported.code, 0, imported.out)
        const exported = yield* inTerminal(columns, ["export", "-o", "again.json"], { variables, folder })
        assert.strictEqual(exported.code, 0, exported.out)
        assert.isTrue(readFileSync(join(folder, "again.json"), "utf8") === all)
        for (const [out, what] of [
          [imported.out, "Sending"],
          [exported.out, "Receiving"]
        ] as const) {
          const drawn = out.split("\r\u001b[2K")
          const bars = drawn.filter((line) => line.startsWith(`${what} [`))
          assert.isNotEmpty(bars, JSON.stringify(out))
          for (const line of drawn.slice(0, -1)) assert.isBelow(line.length, columns)
          // What stands there at the end is the report alone.
          assert.match(drawn.at(-1)!, /^(?:Imported|Exported) 4 tables, 2,000 rows, /)
        }
        assert.include(imported.out, "The service stores the rows …")
      })
    )
  }

  it.effect("show nothing of it in a pipe", () =>
    Effect.gen(function* () {
      const { variables } = yield* given("pipe", fullBackup(4, 500, 4000))
      const { errors } = yield* agentMemory(["export"], { variables })
      assert.match(errors, /^Exported 4 tables, 2,000 rows, 7\.\d MB\.\n$/)
    })
  )
})
