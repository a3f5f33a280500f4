import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule } from "effect"
import { execFile } from "node:child_process"
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { DatabaseLayer, DatabaseUrl } from "./support/Database.ts"
import { makeProxy } from "./support/DatabaseProxy.ts"
import { localSecretOf } from "./support/LocalSecrets.ts"
import {
  call,
  emptyDatabase,
  freePort,
  makeFolder,
  ready,
  signUp,
  spawnService,
  startService
} from "./support/ServiceProcess.ts"
import { mostWhileAway, within } from "./support/OwnTime.ts"
import { refusedStart } from "./support/RefusedStart.ts"

const seconds = 60_000

const run = promisify(execFile)

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "says where it is, where the data is, and what to type next",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const service = yield* startService({ DATABASE_URL: url })
        const lines = service.output().trim().split("\n")
        assert.strictEqual(
          lines[0],
          `Agent Memory is ready at http://localhost:${service.port} (listening on http://127.0.0.1:${service.port}).`
        )
        assert.strictEqual(lines[1], "Data is kept in the PostgreSQL database of DATABASE_URL.")
        assert.strictEqual(lines[3]?.trim(), `http://localhost:${service.port}/?local=${localSecretOf(service.url)}`)
        assert.include(lines[6], `curl -X POST http://localhost:${service.port}/auth/magic-link`)
        const command = lines.slice(5, 7).join("\n")
        const answer = yield* Effect.promise(() => run("sh", ["-c", `${command} -sS --fail-with-body`]))
        assert.include(answer.stdout, `"dev_magic_link":"http://localhost:${service.port}/sign-in?token=`)
        const key = yield* signUp(service.url)
        assert.strictEqual((yield* call(`${service.url}/v1/_tables`, { key })).status, 200)
      }),
    seconds
  )

  it.effect(
    "with PORT=0 names the port that it got, in its greeting and in the links that it gives out",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const service = yield* startService({ DATABASE_URL: url }, 0)
        const [, said, listening] = /ready at (\S+) \(listening on (\S+)\)/.exec(service.output()) ?? []
        const port = new URL(listening ?? "").port
        assert.strictEqual(said, `http://localhost:${port}`)
        assert.include(service.output(), `curl -X POST http://localhost:${port}/auth/magic-link`)
        const secret = new RegExp(`http://localhost:${port}/\\?local=(\\S+)`).exec(service.output())?.[1] ?? ""
        const link = yield* call(`${listening}/auth/magic-link`, {
          body: '{"email":"somebody@example.com"}',
          headers: { "x-local-secret": secret }
        })
        assert.include(link.text, `"dev_magic_link":"http://localhost:${port}/sign-in?token=`)
        assert.include(service.output(), `\nhttp://localhost:${port}/sign-in?token=`)
      }),
    seconds
  )

  it.effect(
    "warns in one line when others can reach it and its address is only assumed",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const warnings = (output: string) => output.split("\n").filter((line) => line.includes('"level":"warn"'))
        const open = yield* startService({ DATABASE_URL: url, HOST: "0.0.0.0" })
        const [warning, ...rest] = warnings(open.output())
        assert.isEmpty(rest)
        assert.include(warning, "HOST is 0.0.0.0, so other machines can reach this service")
        assert.include(warning, "Set BASE_URL")
        const named = { DATABASE_URL: url, HOST: "0.0.0.0", BASE_URL: "http://localhost:3000" }
        for (const variables of [{ DATABASE_URL: url }, named]) {
          const service = yield* startService(variables)
          assert.isEmpty(warnings(service.output()))
        }
      }),
    seconds
  )

  it.effect(
    "mails a sign-in link through SMTP_URL and keeps it out of the answer",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const port = yield* freePort
        const called = yield* Deferred.make<void>()
        yield* Effect.acquireRelease(
          Effect.callback<Server>((resume) => {
            const server = createServer((socket) => {
              socket.destroy()
              Deferred.doneUnsafe(called, Effect.void)
            }).listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.sync(() => server.close())
        )
        const service = yield* startService({ DATABASE_URL: url, SMTP_URL: `smtp://user:hunter2@127.0.0.1:${port}` })
        const link = yield* call(`${service.url}/auth/magic-link`, { body: '{"email":"somebody@example.com"}' })
        assert.strictEqual(link.status, 200)
        assert.notInclude(link.text, "token")
        yield* Deferred.await(called)
        assert.notInclude(service.output(), "hunter2")
      }),
    seconds
  )

  it.effect(
    "keeps its local secret over restarts, beside the database of DATABASE_URL too, and for its own user alone",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const folder = yield* makeFolder
        const variables = { DATABASE_URL: url, DATA_DIR: join(folder, "data") }
        const secrets: Array<string | undefined> = []
        for (let start = 0; start < 2; start++) {
          const service = yield* startService(variables)
          secrets.push(/\?local=(\S+)/.exec(service.output())?.[1])
          yield* service.signal("SIGTERM")
          yield* service.ended
        }
        const file = join(folder, "data/local-secret")
        assert.deepStrictEqual(secrets, [readFileSync(file, "utf8"), readFileSync(file, "utf8")])
        assert.isAtLeast(Buffer.from(secrets[0]!.replace("svc_local_", ""), "base64url").length, 24)
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        assert.deepStrictEqual(readdirSync(join(folder, "data")), ["local-secret"])
        chmodSync(file, 0o640)
        const output = yield* refusedStart(variables)
        assert.include(output, `The local secret in ${file} is not used: `)
        assert.notInclude(output, secrets[0]!)
      }),
    seconds
  )

  it.effect(
    "makes no local secret where it serves others",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const elsewhere: ReadonlyArray<Record<string, string>> = [
          { HOST: "0.0.0.0" },
          { SMTP_URL: "smtp://127.0.0.1:1" },
          { BASE_URL: "https://memory.example.com", MAIL_TO_STDOUT: "true" }
        ]
        for (const variables of elsewhere) {
          const folder = yield* makeFolder
          const service = yield* startService({ DATABASE_URL: url, DATA_DIR: folder, ...variables })
          assert.isEmpty(readdirSync(folder))
          assert.notInclude(service.output(), "local=")
        }
      }),
    seconds
  )

  it.effect(
    "refuses or answers every connection while it starts, and lets none hang",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const port = yield* freePort
        let refusals = 0
        let answers = 0
        const attempt = call(`http://127.0.0.1:${port}/ready`).pipe(
          Effect.tap(({ status }) => Effect.sync(() => assert.strictEqual(status, 200))),
          Effect.map(() => void answers++),
          Effect.catchTag("Disconnected", ({ code }) =>
            Effect.sync(() => {
              assert.include(code, "ECONNREFUSED")
              refusals++
            })
          )
        )
        const hammer = Effect.repeat(attempt, { until: () => answers >= 50 })
        const clients = yield* Effect.forkScoped(
          Effect.all(
            Array.from({ length: 10 }, () => hammer),
            { concurrency: "unbounded" }
          )
        )
        yield* startService({ DATABASE_URL: url }, port)
        yield* Fiber.join(clients)
        assert.isAbove(refusals, 0)
      }),
    seconds
  )

  it.effect(
    "lets two processes that start at once on an empty database both serve it",
    () =>
      Effect.gen(function* () {
        const url = yield* emptyDatabase
        const both = yield* Effect.all([spawnService({ DATABASE_URL: url }), spawnService({ DATABASE_URL: url })])
        const [first, second] = [yield* ready(both[0]), yield* ready(both[1])]
        const key = yield* signUp(first.url)
        assert.strictEqual((yield* call(`${second.url}/v1/notes`, { key, body: '{"n":1}' })).status, 201)
        assert.include((yield* call(`${first.url}/v1/notes`, { key })).text, '"n":1')
      }),
    seconds
  )

  it.effect(
    "is alive and not ready while its database is away, and ready again afterwards",
    () =>
      Effect.gen(function* () {
        const proxy = yield* makeProxy((yield* DatabaseUrl).url)
        const { url } = yield* startService({ DATABASE_URL: proxy.url })
        assert.include(yield* call(`${url}/ready`), { status: 200, text: '{"status":"ready"}' })
        for (const fault of [proxy.cut, proxy.stall]) {
          yield* fault
          // The database is asked once a second.
          const refusal = yield* call(`${url}/ready`).pipe(
            within(mostWhileAway),
            Effect.repeat({ until: ({ status }) => status !== 200, schedule: Schedule.spaced("20 millis") })
          )
          assert.strictEqual(refusal.status, 503)
          assert.match(refusal.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
          assert.include(refusal.text, '"code":"unavailable"')
          assert.include(yield* call(`${url}/health`), { status: 200, text: '{"status":"ok"}' })
          yield* proxy.resume
          yield* call(`${url}/ready`).pipe(
            Effect.repeat({ until: ({ status }) => status === 200, schedule: Schedule.spaced("20 millis") })
          )
        }
      }),
    seconds
  )
})
