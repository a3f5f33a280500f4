import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { execFileSync } from "node:child_process"
import { embeddedLayer } from "../../../src/server/sql/Database.ts"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { makeFolder, postmasterOf } from "../../support/ServiceProcess.ts"
import { newAccount, serviceOn } from "../../support/TestService.ts"
import { add, assertUnavailable, BehindNetworkService, Network, rowsOf } from "./FailingDatabase.ts"
import { timed } from "../../support/OwnTime.ts"

const seconds = 120_000
const faultLasts = "10 seconds"
const writers = 8

/**
 * Writes all the while that a fault lasts. Each write is repeated with its idempotency key until it is stored, and each
 * answer before that has to be a refusal in time. Then every write is there once.
 */
const writeThrough = Effect.fnUntraced(function* (fault: Effect.Effect<void>) {
  const { apiKey: key } = yield* newAccount
  const stored: Array<string> = []
  let refusals = 0
  const state = { isOver: false }
  const write = Effect.fnUntraced(function* (writer: number) {
    for (let n = 0; !state.isOver; n++) {
      const name = `${writer}-${n}`
      yield* timed(add(key, name)).pipe(
        Effect.tap((answer) => {
          if (answer.value.status === 201) return Effect.void
          refusals++
          return Effect.sync(() => assertUnavailable(answer))
        }),
        Effect.repeat({ until: ({ value }) => value.status === 201, schedule: Schedule.spaced("200 millis") })
      )
      stored.push(name)
      yield* Effect.sleep("200 millis")
    }
  })
  yield* Effect.all(
    [
      ...Array.from({ length: writers }, (_, writer) => write(writer)),
      Effect.andThen(
        fault,
        Effect.sync(() => void (state.isOver = true))
      )
    ],
    { concurrency: "unbounded", discard: true }
  )
  const found = (yield* rowsOf(key)).map(({ k }) => k)
  assert.deepStrictEqual(found.toSorted(), stored.toSorted())
  return { refusals }
})

layer(BehindNetworkService, { excludeTestServices: true, timeout: seconds })("P12 A service", (it) => {
  for (const [fault, says] of [
    ["stall", "the network swallows everything for 10 s"],
    ["cut", "no connection can be made for 10 s"]
  ] as const) {
    it.effect(
      `refuses in time and stores each write once while ${says}`,
      () =>
        Effect.gen(function* () {
          const network = yield* Network
          const { refusals } = yield* writeThrough(
            Effect.andThen(network[fault], Effect.sleep(faultLasts)).pipe(Effect.ensuring(network.resume))
          )
          assert.isAbove(refusals, writers)
        }),
      seconds
    )
  }

  it.effect(
    "refuses in time and stores each write once while its connections are ended every 2 s",
    () =>
      Effect.gen(function* () {
        const admin = yield* poolOf((yield* DatabaseUrl).url)
        let ended = 0
        const terminate = Effect.map(
          admin`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
          `,
          (backends) => void (ended += backends.length)
        )
        yield* writeThrough(
          Effect.orDie(Effect.repeat(terminate, Schedule.spaced("2 seconds").pipe(Schedule.upTo({ times: 5 })))).pipe(
            Effect.asVoid
          )
        )
        assert.isAbove(ended, 5)
      }),
    seconds
  )
})

/** Stops or continues a server and all its processes. */
const signalServer = (postmaster: number, signal: "SIGSTOP" | "SIGCONT") =>
  Effect.sync(() => {
    const all = execFileSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" })
      .split("\n")
      .map((line) => line.trim().split(/ +/).map(Number))
    for (const [pid, parent] of all) {
      if (pid === postmaster || parent === postmaster) process.kill(pid!, signal)
    }
  })

class DataFolder extends Context.Service<DataFolder, string>()("agent-memory/test/server/failures/DataFolder") {}

/** A service with a server of its own, which no other suite waits for. */
const OwnServerService = Layer.unwrap(
  Effect.map(makeFolder, (dataDir) =>
    Layer.merge(serviceOn(embeddedLayer({ dataDir })), Layer.succeed(DataFolder, dataDir))
  )
)

layer(OwnServerService, { excludeTestServices: true, timeout: seconds })("P12 A service", (it) => {
  it.effect(
    "refuses in time and stores each write once while its database's server is paused for 10 s",
    () =>
      Effect.gen(function* () {
        const postmaster = postmasterOf(yield* DataFolder)
        const { refusals } = yield* writeThrough(
          Effect.andThen(signalServer(postmaster, "SIGSTOP"), Effect.sleep(faultLasts)).pipe(
            Effect.ensuring(signalServer(postmaster, "SIGCONT"))
          )
        )
        assert.isAbove(refusals, writers)
      }),
    seconds
  )
})
