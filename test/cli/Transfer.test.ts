import { assert, it as plain, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { backup, backupRow, fullBackup } from "../support/Backups.ts"
import { agentMemory, hasTerminal, inTerminal } from "../support/CommandLine.ts"
import { DatabaseLayer } from "../support/Database.ts"
import { makeFolder } from "../support/ServiceProcess.ts"
import { another, exported, fakeService, given, odd, Running, small } from "./Transfers.ts"

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

  it.effect(
    "write through a link to its file, which only its owner may read, and into a pipe without replacing it",
    () =>
      Effect.gen(function* () {
        const { folder, variables } = yield* given("links", small)
        writeFileSync(join(folder, "real.json"), "yesterday's", { mode: 0o644 })
        symlinkSync("real.json", join(folder, "link.json"))
        // Somebody else's, were the name one to be guessed.
        writeFileSync(join(folder, "real.json.part"), "", { mode: 0o666 })
        assert.strictEqual(
          (yield* agentMemory(["export", "-o", "link.json", "--force"], { variables, folder })).code,
          0
        )
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

  it.effect("take a file behind a byte order mark, and say what is wrong with an empty one or one in UTF-16", () =>
    Effect.gen(function* () {
      const variables = yield* another("encodings")
      const line = `{"table":"a","row":${backupRow(1)}}\n`
      const files: ReadonlyArray<readonly [name: string, bytes: Uint8Array, told: string]> = [
        ["empty.json", Buffer.from("\ufeff"), "empty.json is empty: it only has a byte order mark.\n"],
        ["empty.ndjson", Buffer.from("\ufeff"), "empty.ndjson is empty: it only has a byte order mark.\n"],
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

  it.effect("take lists of rows that no export wrote into one table, as people have them", () =>
    Effect.gen(function* () {
      const variables = yield* another("lists")
      const folder = yield* makeFolder
      const take = (name: string, text: string, ...more: ReadonlyArray<string>) => {
        writeFileSync(join(folder, name), text)
        return agentMemory(["import", name, ...more], { variables, folder })
      }
      const lists: Readonly<Record<string, string>> = {
        "array.json": '\ufeff[\r\n{"item":"Tea","amount":3.50},{"item":"Coffee, black","amount":12}]',
        "semicolon.csv": "item;amount\nTea;3.50\nCoffee, black;12\n"
      }
      for (const [name, text] of Object.entries(lists)) {
        const { code, errors, out } = yield* take(name, text, "--table", name.replace(".", "_"))
        assert.strictEqual(code, 0, errors)
        assert.match(out, /^Imported 1 table, 2 rows/)
      }
      const odd = '007,2026-03-01,true,"[1,2]","a ""b""\nc",1.10,{bad}'
      const { code, errors } = yield* take("odd.csv", `zero,day,yes,list,text,exact,brace\n${odd}\n`, "--table", "odd")
      assert.strictEqual(code, 0, errors)
      const { tables } = JSON.parse(yield* exported(variables.AGENT_MEMORY_API_KEY)) as {
        tables: Record<string, ReadonlyArray<Record<string, unknown>>>
      }
      const own = ({ created_at: _at, id: _id, updated_at: _changed, ...fields }: Record<string, unknown>) => fields
      const rows = [
        { item: "Tea", amount: 3.5 },
        { item: "Coffee, black", amount: 12 }
      ]
      for (const name of Object.keys(lists))
        assert.deepStrictEqual(tables[name.replace(".", "_")]?.map(own), rows, name)
      const told = {
        zero: "007",
        day: "2026-03-01",
        yes: true,
        list: [1, 2],
        text: 'a "b"\nc',
        exact: 1.1,
        brace: "{bad}"
      }
      assert.deepStrictEqual(tables["odd"]?.map(own), [told])
      for (const [name, text, words] of [
        ["wide.csv", "a,b\n\n1,2,3\n", /Line 3 has 3 cells, and the first line names 2\./]
      ] as const) {
        const refused = yield* take(name, text, "--table", "t")
        assert.strictEqual(refused.code, 1)
        assert.match(refused.errors, words)
      }
      const unnamed = yield* take("unnamed.csv", "a\n1\n")
      assert.match(unnamed.errors, /These are rows of one table: name it with --table\./)
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
        assert.match(shown.out.replaceAll("\r\u001b[2K", ""), /\}\]\}\}\nExported 1 table/)
        assert.strictEqual((yield* agentMemory(["export"], { variables })).out, rows)
        const liar = yield* fakeService(() => [403, '{"detail":"\\u001b]0;yours\\u0007 \\u009b2J","code":"forbidden"}'])
        const refused = yield* inTerminal(80, ["export", "--url", liar.url], { variables, folder })
        assert.include(refused.out, String.raw`The service refused: \u001b]0;yours\u0007 \u009b2J (forbidden)`)
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
        assert.include(imported.out, "The service is storing the rows …")
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
