import { assert } from "@effect/vitest"
import { Effect, Fiber, Random } from "effect"
import { runs, waitUntil } from "../src/server/sql/EmbeddedProcess.ts"
import { call, makeFolder, numbersIn, postmasterOf, signUp, startService } from "./support/ServiceProcess.ts"

const patience = 120_000
const writers = 8

const kill = (pid: number) =>
  Effect.sync(() => process.kill(pid, "SIGKILL")).pipe(Effect.andThen(waitUntil(() => !runs(pid), patience)))

/**
 * Kills a service under load `rounds` times or until it is over, starts it again each time, and looks whether all that
 * was acknowledged is there once. In the last round the database's server is killed too. Gives the rounds.
 */
export const surviveKills = (rounds: number, isOver: Effect.Effect<boolean> = Effect.succeed(false)) =>
  Effect.gen(function* () {
    const folder = yield* makeFolder
    let service = yield* startService({ DATA_DIR: folder })
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
        if (outcome._tag === "None" || outcome.value.status !== 201) return { n, outcome }
        expected.push(n)
      }
    })

    let round = 0
    for (; round < rounds && !(yield* isOver); round++) {
      const load = yield* Effect.forkScoped(
        Effect.all(
          Array.from({ length: writers }, () => writeUntilBroken),
          { concurrency: "unbounded" }
        )
      )
      const before = expected.length
      const enough = before + (yield* Random.nextIntBetween(1, 30))
      yield* waitUntil(() => expected.length >= enough, patience, 1)
      // In the last round the database's server dies with the service.
      if (round === rounds - 1) yield* kill(postmasterOf(folder))
      yield* kill(service.pid)
      const broken = yield* Fiber.join(load)
      service = yield* startService({ DATA_DIR: folder }).pipe(Effect.timeout("10 seconds"))

      const stored = yield* numbersIn(service.url, "notes", key)
      assert.deepStrictEqual(
        expected.filter((n) => !stored.includes(n)),
        [],
        "acknowledged writes were lost"
      )
      for (const { n } of broken) {
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
