import { assert } from "@effect/vitest"
import { Effect, Fiber, Random } from "effect"
import { runs, waitUntil } from "../src/server/sql/EmbeddedProcess.ts"
import { call, makeFolder, numbersIn, postmasterOf, signUp, startService } from "./support/ServiceProcess.ts"

const patience = 120_000
const writers = 8

const end = (pid: number, signal: NodeJS.Signals) =>
  Effect.sync(() => process.kill(pid, signal)).pipe(Effect.andThen(waitUntil(() => !runs(pid), patience)))

interface ChangePage {
  readonly changes: ReadonlyArray<{ readonly change: number; readonly row_id: string }>
  readonly next_cursor?: string
}

interface Ends {
  readonly signal: "SIGKILL" | "SIGTERM"
  readonly rounds: number
  /** Of a database that lives on; without it the service has one of its own. */
  readonly databaseUrl?: string
  readonly isOver?: Effect.Effect<boolean>
}

/**
 * Ends a service under load `rounds` times or until it is over, but once at least, starts it again each time, and looks
 * whether all that was acknowledged is there once, and once in the log of changes. In the first of every four rounds in which it is killed, the server of
 * its own database is killed before it. Gives the rounds.
 */
export const surviveEnds = ({ databaseUrl, isOver = Effect.succeed(false), rounds, signal }: Ends) =>
  Effect.gen(function* () {
    const folder = yield* makeFolder
    const variables: Record<string, string> =
      databaseUrl === undefined ? { DATA_DIR: folder } : { DATABASE_URL: databaseUrl }
    let service = yield* startService(variables)
    const key = yield* signUp(service.url)
    const expected: Array<number> = []
    let next = 0
    /** The rows that the log of changes told of, read on from `since` each time. */
    const told: Array<string> = []
    let since = 0

    const readChanges = Effect.gen(function* () {
      for (let cursor = ""; ;) {
        const { text } = yield* call(`${service.url}/v1/_changes?since=${since}&limit=7${cursor}`, { key })
        const page = JSON.parse(text) as ChangePage
        told.push(...page.changes.map(({ row_id }) => row_id))
        if (page.next_cursor === undefined) {
          since = page.changes.at(-1)?.change ?? since
          return
        }
        cursor = `&cursor=${page.next_cursor}`
      }
    })

    const add = (n: number) =>
      call(`${service.url}/v1/notes`, {
        key,
        body: `{"n":${n}}`,
        headers: { "idempotency-key": `note-${n}` }
      })
    const writeUntilBroken = Effect.gen(function* () {
      while (true) {
        const n = next++
        const outcome = yield* Effect.option(add(n))
        if (outcome._tag === "None") return n
        if (outcome.value.status !== 201) {
          assert.strictEqual(outcome.value.status, 503, outcome.value.text)
          return n
        }
        expected.push(n)
      }
    })

    let round = 0
    for (; round < rounds && (round === 0 || !(yield* isOver)); round++) {
      const load = yield* Effect.forkScoped(
        Effect.all(
          Array.from({ length: writers }, () => writeUntilBroken),
          { concurrency: "unbounded" }
        )
      )
      const before = expected.length
      const enough = before + (yield* Random.nextIntBetween(1, 30))
      assert.isTrue(yield* waitUntil(() => expected.length >= enough, patience, 1), "the load stands still")
      const isServerKilled = databaseUrl === undefined && signal === "SIGKILL" && round % 4 === 0
      if (isServerKilled) yield* end(postmasterOf(folder), "SIGKILL")
      yield* end(service.pid, signal)
      const broken = yield* Fiber.join(load)
      service = yield* startService(variables)

      const stored = yield* numbersIn(service.url, "notes", key)
      assert.deepStrictEqual(
        expected.filter((n) => !stored.includes(n)),
        [],
        "acknowledged writes were lost"
      )
      for (const n of broken) {
        const again = yield* add(n)
        assert.strictEqual(again.status, 201, again.text)
        assert.strictEqual(again.headers.has("idempotent-replayed"), stored.includes(n))
        expected.push(n)
      }
      assert.deepStrictEqual(
        yield* numbersIn(service.url, "notes", key),
        expected.toSorted((a, b) => a - b)
      )
      yield* readChanges
      const { text } = yield* call(`${service.url}/v1/_export`, { key })
      const { tables } = JSON.parse(text) as { tables: { notes: ReadonlyArray<{ id: string }> } }
      assert.deepStrictEqual(
        told,
        tables.notes.map(({ id }) => id),
        "the log of changes"
      )
    }
    return round
  })
