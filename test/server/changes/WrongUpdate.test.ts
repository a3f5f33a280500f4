import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { agentMemory } from "../../support/CommandLine.ts"
import { done, newConnection } from "../../support/Mcp.ts"
import { BaseUrl, bodyOf, request, serviceLayer } from "../../support/TestService.ts"

interface Entry {
  readonly change: number
  readonly operation: string
  readonly row_id: string
  readonly changed_by: { readonly kind: string }
}

interface Undone {
  readonly change?: number
  readonly rows: ReadonlyArray<{ readonly operation: string; readonly row_id: string }>
}

/** Members of a row that are hard to keep. */
const odd = String.raw`"":1.10,"__proto__":12345678901234567890,"s":"\u0000\ud800 é","10":1e400,"o":{"b":[],"a":null}`

/** A way to see and to take back changes. */
interface Door<R> {
  readonly changes: Effect.Effect<ReadonlyArray<Entry>, never, R>
  readonly dryRun: (change: number) => Effect.Effect<ReadonlyArray<string>, never, R>
  /** Gives the number of the undo. */
  readonly undo: (change: number) => Effect.Effect<number, never, R>
}

const idsOf = ({ rows }: Undone) => rows.map(({ row_id }) => row_id)

const overRest = (key: string): Door<BaseUrl> => {
  const undo = (change: number, query: string) =>
    Effect.map(request("POST", `/v1/_undo${query}`, { key, body: JSON.stringify({ change }) }), (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return bodyOf<Undone>(answer)
    })
  return {
    changes: Effect.map(
      request("GET", "/v1/_changes", { key }),
      (answer) => bodyOf<{ changes: ReadonlyArray<Entry> }>(answer).changes
    ),
    dryRun: (change) => Effect.map(undo(change, "?dry_run=true"), idsOf),
    undo: (change) => Effect.map(undo(change, ""), (undone) => undone.change!)
  }
}

const overMcp = (token: string): Door<BaseUrl> => ({
  changes: Effect.map(done(token, "versions", { table: "notes" }), ({ changes }) => changes as ReadonlyArray<Entry>),
  dryRun: (change) =>
    Effect.map(done(token, "restore", { change, dryRun: true }), (result) => idsOf(result as unknown as Undone)),
  undo: (change) => Effect.map(done(token, "restore", { change }), (result) => result["change"] as number)
})

const overCommandLine = (key: string): Door<BaseUrl> => {
  const run = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(BaseUrl, ({ url }) =>
      Effect.map(agentMemory(args, { variables: { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url } }), (ended) => {
        assert.strictEqual(ended.code, 0, ended.errors)
        return ended
      })
    )
  const cells = (out: string) =>
    out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("\t"))
  return {
    changes: Effect.map(run("changes", "--table", "notes"), ({ out }) =>
      cells(out).map(([change = "", , operation = "", , row_id = "", , by = ""]) => ({
        change: Number(change),
        operation,
        row_id,
        changed_by: { kind: by.split(" ")[0]! }
      }))
    ),
    dryRun: (change) =>
      Effect.map(run("undo", String(change), "--dry-run"), ({ errors, out }) => {
        assert.include(errors, "Nothing was changed.")
        return cells(out).map(([, , id = ""]) => id)
      }),
    undo: (change) =>
      Effect.map(run("undo", String(change)), ({ errors }) => Number(/change (\d+)\.\n$/.exec(errors)?.[1]))
  }
}

layer(serviceLayer(), { excludeTestServices: true, timeout: "60 seconds" })(
  "An agent's wrong update of many rows",
  (it) => {
    const doors = {
      "over REST": (key: string, _token: string) => overRest(key),
      "over MCP": (_key: string, token: string) => overMcp(token),
      "by the command line": (key: string, _token: string) => overCommandLine(key)
    }
    for (const [title, doorOf] of Object.entries(doors)) {
      it.effect(`is found, shown by a dry run, undone by one call and undone again ${title}, byte for byte`, () =>
        Effect.gen(function* () {
          const { apiKey: key, token } = yield* newConnection()
          const door = doorOf(key, token)
          for (const n of [1, 2, 3]) {
            yield* request("POST", "/v1/notes", { key, body: `{"n":${n},"status":"open",${odd}}` })
          }
          const contents = Effect.map(request("GET", "/v1/_export", { key }), ({ text }) =>
            text.replaceAll(/"updated_at":"[^"]*"/g, '"updated_at":""')
          )
          const right = yield* contents
          yield* done(token, "update_where", {
            table: "notes",
            filter: { status: "open" },
            patch: { s: "wrong", "10": 0 },
            allowMultiple: true
          })
          const wrong = yield* contents
          assert.notStrictEqual(wrong, right)
          const changes = yield* door.changes
          const found = changes.filter(
            ({ changed_by, operation }) => operation === "update" && changed_by.kind === "mcp"
          )
          assert.lengthOf(found, 3)
          const { change } = found[0]!
          assert.isTrue(found.every((one) => one.change === change))
          const shown = yield* door.dryRun(change)
          assert.deepStrictEqual(shown.toSorted(), found.map(({ row_id }) => row_id).toSorted())
          assert.strictEqual(yield* contents, wrong)
          const undone = yield* door.undo(change)
          assert.strictEqual(yield* contents, right)
          const again = yield* door.undo(undone)
          assert.isAbove(again, undone)
          assert.strictEqual(yield* contents, wrong)
        })
      )
    }
  }
)
