import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { connect } from "node:net"
import { runs } from "../src/server/sql/EmbeddedProcess.ts"
import { DatabaseLayer, DatabaseUrl } from "./support/Database.ts"
import { call, makeFolder, numbersIn, postmasterOf, signUp, startService } from "./support/ServiceProcess.ts"
import { within } from "./support/OwnTime.ts"

const seconds = 60_000

/** A connection that sent this, was answered, and stays open. */
const socketAfter = (port: number, sent: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined)
      socket.write(sent)
      await once(socket, "data")
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const idleSocket = (port: number) => socketAfter(port, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "P11 answers or refuses each of 50 writes that SIGTERM comes upon, and does what it said",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const first = yield* startService({ DATABASE_URL: url })
        const key = yield* signUp(first.url)
        yield* Effect.all(
          Array.from({ length: 20 }, () => idleSocket(first.port)),
          { concurrency: "unbounded" }
        )
        let answered = 0
        const write = (n: number) =>
          call(`${first.url}/v1/notes`, { key, body: `{"n":${n}}` }).pipe(
            Effect.map(({ headers, status }) =>
              status === 201
                ? "stored"
                : status === 503 && headers.has("retry-after")
                  ? "refused"
                  : `answered ${status}`
            ),
            // Not let in is refused too; a reset would leave a client without an answer.
            Effect.catchTag("Disconnected", ({ code }) =>
              Effect.succeed(code.includes("ECONNREFUSED") ? "refused" : code)
            ),
            Effect.tap(() => (++answered === 10 ? first.signal("SIGTERM") : Effect.void)),
            Effect.map((outcome) => ({ n, outcome }))
          )
        const writes = yield* Effect.forkScoped(
          Effect.forEach(
            Array.from({ length: 50 }, (_, n) => n),
            write,
            { concurrency: 25 }
          )
        )
        const outcomes = yield* Fiber.join(writes)
        assert.strictEqual(yield* first.ended.pipe(within(10_000)), 0, first.output())
        assert.deepStrictEqual(
          outcomes.filter(({ outcome }) => outcome !== "stored" && outcome !== "refused"),
          []
        )
        const second = yield* startService({ DATABASE_URL: url })
        assert.deepStrictEqual(
          yield* numbersIn(second.url, "notes", key),
          outcomes.flatMap(({ n, outcome }) => (outcome === "stored" ? [n] : []))
        )
      }),
    seconds
  )

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.effect(
      `ends well when ${signal} comes a second time, and leaves no database behind`,
      () =>
        Effect.gen(function* () {
          const folder = yield* makeFolder
          const service = yield* startService({ DATA_DIR: folder })
          const postmaster = postmasterOf(folder)
          yield* idleSocket(service.port)
          yield* service.signal(signal)
          yield* Effect.flip(Effect.forever(call(`${service.url}/health`)))
          yield* service.signal(signal)
          assert.strictEqual(yield* service.ended.pipe(within(10_000)), 0, service.output())
          assert.isFalse(runs(postmaster))
          assert.strictEqual(service.output().trim().split("\n").at(-1), "Agent Memory has stopped.")
        }),
      seconds
    )
  }

  it.effect(
    "P11 does not wait for a client that never finishes its request",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const service = yield* startService({ DATABASE_URL: url })
        const head = "POST /auth/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        yield* socketAfter(service.port, `${head}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n`)
        yield* service.signal("SIGTERM")
        assert.strictEqual(yield* service.ended.pipe(within(10_000)), 0, service.output())
      }),
    seconds
  )
})
