import { assert } from "@effect/vitest"
import { Effect, Fiber, Random } from "effect"
import { runs, waitUntil } from "../src/server/sql/EmbeddedProcess.ts"
import { call, makeFolder, numbersIn, postmasterOf, signUp, startService } from "./support/ServiceProcess.ts"

const patience = 120_000
const writers = 8

const end = (pid: number, signal: NodeJS.Signals) =>
  Effect.sync(() => process.kill(pid, signal)).pipe(Effect.andThen(waitUntil(() => !runs(pid), patience)))

interface Ends {
  readonly signal: "SIGKILL" | "SIGTERM"
  readonly rounds: number
  /** Of a database that lives on; without it the service has one of its own. */
  readonly databaseUrl?: string
  readonly isOver?: Effect.Effect<boolean>
}

/**
 * Ends a service under load `rounds` times or until it is over, but once at least, starts it again each time, and looks
 * whether all that was acknowledged is there once. In the first of every four rounds in which it is killed, the server of
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
    }
    return round
  })
