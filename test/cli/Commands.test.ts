import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { agentMemory, hasTerminal, inTerminal } from "../support/CommandLine.ts"

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string
}

const guide = readFileSync(new URL("../../src/server/pages/docs/command-line.md", import.meta.url), "utf8")

/** The commands in the guide's table, such as `["keys", "create"]`, with the options that it names. */
const documented = [...guide.matchAll(/^\| (`.*?) \|/gm)]
  .flatMap(([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)])
  .map(([, usage = ""]) => ({
    command: usage.split(" ").slice(0, usage.startsWith("keys ") ? 2 : 1),
    options: usage.match(/--[a-z-]+/g) ?? []
  }))

/** What the guide says once for all commands. */
const everywhere = ["--url", "--api-key-file", "--help", "--version", "--completions"]

if (!hasTerminal) it.skip("The command line in a terminal: no python3 to make one", () => undefined)

describe("The command line", () => {
  it.live("tells its version", () =>
    Effect.gen(function* () {
      const { code, errors, out } = yield* agentMemory(["--version"])
      assert.deepStrictEqual([code, out, errors], [0, `agent-memory v${version}\n`, ""])
    })
  )

  it.live("explains every command in a pipe, in lines as long as they are, and its guide has all of them", () =>
    Effect.gen(function* () {
      for (const { command, options } of [{ command: ["keys"], options: [] }, ...documented]) {
        const { code, errors, out } = yield* agentMemory([...command, "--help"])
        assert.deepStrictEqual([code, errors], [0, ""])
        assert.include(out, ["  agent-memory", ...command].join(" "))
        assert.notInclude(out, "\u001b")
        const own = [...out.matchAll(/^  (--[a-z-]+)/gm)].map(([, option = ""]) => option)
        assert.sameMembers(
          own.filter((option) => !everywhere.includes(option)),
          options,
          command.join(" ")
        )
      }
      const { out } = yield* agentMemory(["--help"])
      const named = [...(out.split("SUBCOMMANDS")[1] ?? "").matchAll(/^  ([a-z]+) +\S/gm)].map(([, name]) => name)
      assert.deepStrictEqual(new Set(named), new Set(documented.map(({ command }) => command[0])))
      assert.include(out, "Exit codes: 0 success, 1 failure, 2 wrong usage.")
    })
  )

  for (const columns of hasTerminal ? [80, 40] : []) {
    it.live(`explains itself in a terminal of ${columns} columns, none of its words cut`, () =>
      Effect.gen(function* () {
        const words = (text: string) => text.split(/\s+/).join(" ")
        for (const command of [[], ["export"]]) {
          const { code, out } = yield* inTerminal(columns, [...command, "--help"])
          assert.strictEqual(code, 0)
          // The list of shells is one word.
          const tooLong = out.split("\n").filter((line) => line.length > columns && !line.includes("<bash|"))
          assert.deepStrictEqual(tooLong, [])
          assert.strictEqual(words(out), words((yield* agentMemory([...command, "--help"])).out))
        }
      })
    )
  }

  it.live("ends with 2 for wrong usage, and says on standard error what is wrong and where help is", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp, string]> = [
        [["nonsense"], /nonsense/, "See agent-memory --help."],
        [["migrate", "--bad"], /--bad/, "See agent-memory migrate --help."],
        [["import"], /file/, "See agent-memory import --help."],
        [["export", "--format", "xml"], /xml/, "See agent-memory export --help."],
        [["keys", "create"], /--email/, "See agent-memory keys create --help."],
        [["keys", "create", "--email", "Ada <ada@example.com>"], /one plain e-mail address/, "create --help."],
        [["keys", "create", "--email", "a@b.example", "--name", ""], /name/, "create --help."],
        [["serve", "now"], /now/, "See agent-memory serve --help."]
      ]
      for (const [args, what, help] of wrong) {
        const { code, errors, out } = yield* agentMemory(args)
        assert.deepStrictEqual([code, out], [2, ""], args.join(" "))
        assert.match(errors, what)
        assert.include(errors, help)
      }
    })
  )

  it.live("ends with 1 where a command cannot do its work, and says why", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, Record<string, string>, string]> = [
        [["migrate"], { PORT: "x" }, 'PORT is "x"'],
        [["migrate"], { DATABASE_URL: "postgres://a:hunter2@127.0.0.1:1/b" }, "cannot be used: connect ECONNREFUSED"],
        [["export"], {}, "There is no API key. Set AGENT_MEMORY_API_KEY, or pass a file with --api-key-file."],
        [["export"], { AGENT_MEMORY_API_KEY: "svc_live_x" }, "mistyped or incomplete"],
        [["export", "--api-key-file", "/none"], {}, "The key cannot be read: ENOENT"],
        [["export", "--url", "ftp://x"], {}, "--url is ftp://x: expected a URL like https://memory.example.com"]
      ]
      for (const [args, variables, why] of cases) {
        const { code, errors, out } = yield* agentMemory(args, { variables })
        assert.deepStrictEqual([code, out], [1, ""], args.join(" "))
        assert.include(errors, why)
        assert.notInclude(errors, "hunter2")
      }
    })
  )
})
