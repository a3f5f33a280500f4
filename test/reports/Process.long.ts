import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { existsSync, readFileSync, symlinkSync } from "node:fs"
import { join, relative } from "node:path"
import { tmpdir } from "node:os"
import { runs, waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../support/Database.ts"
import {
  call,
  makeFolder,
  numbersIn,
  postmasterOf,
  ready,
  signUp,
  spawnService,
  startService,
  type ServiceProcess
} from "../support/ServiceProcess.ts"
import { refusedStart } from "../support/RefusedStart.ts"

const seconds = 60_000

const kill = ({ pid, signal }: ServiceProcess) =>
  Effect.andThen(
    signal("SIGKILL"),
    waitUntil(() => !runs(pid), seconds)
  )

/** A start that must name the process that holds the folder. */
const refused = Effect.fnUntraced(function* (variables: Record<string, string>, holder: number) {
  assert.include(yield* refusedStart(variables), `process ${holder}`)
})

const addNumbers = (service: ServiceProcess, key: string, from: number, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, n) => from + n),
    (n) =>
      Effect.map(call(`${service.url}/v1/notes`, { key, body: `{"n":${n}}` }), ({ status, text }) =>
        assert.strictEqual(status, 201, text)
      ),
    { concurrency: 8 }
  )

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  // https://github.com/electric-sql/pglite/issues/1106
  it.effect(
    "C01 refuses a second process on a folder, however its path is spelled, and takes over a dead one's",
    () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const link = join(yield* makeFolder, "link")
        symlinkSync(folder, link)
        const first = yield* startService({ DATA_DIR: folder })
        const key = yield* signUp(first.url)
        // Processes start in the folder for temporary files.
        const spellings = [link, relative(tmpdir(), folder)]
        const refusals = Effect.forEach(spellings, (DATA_DIR) => refused({ DATA_DIR }, first.pid))
        yield* Effect.all([addNumbers(first, key, 0, 100), refusals], { concurrency: "unbounded" })
        const expected = Array.from({ length: 100 }, (_, n) => n)
        assert.deepStrictEqual(yield* numbersIn(first.url, "notes", key), expected)

        yield* kill(first)
        const postmaster = postmasterOf(folder)
        const heir = yield* startService({ DATA_DIR: link })
        assert.include(
          heir.output(),
          `Using the embedded PostgreSQL (process ${postmaster}) that a killed service left running`
        )
        assert.deepStrictEqual(yield* numbersIn(heir.url, "notes", key), expected)
        yield* refused({ DATA_DIR: folder }, heir.pid)
      }),
    seconds
  )

  it.effect(
    "C01 gives an empty folder to one of two processes that start at once",
    () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const both = [yield* spawnService({ DATA_DIR: folder }), yield* spawnService({ DATA_DIR: folder })]
        const outcomes = yield* Effect.all(
          both.map((service) => Effect.result(ready(service))),
          { concurrency: "unbounded" }
        )
        const winner = both[outcomes.findIndex(({ _tag }) => _tag === "Success")]!
        const loser = both.find((service) => service !== winner)!
        assert.strictEqual(yield* loser.ended, 1)
        assert.include(loser.output(), `process ${winner.pid}`)
        yield* addNumbers(winner, yield* signUp(winner.url), 0, 5)
      }),
    seconds
  )

  // https://github.com/electric-sql/pglite/issues/327
  it.effect(
    "C02 P10 starts after a kill -9 at any step of the first start",
    () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const postmaster = join(folder, "postgres", "postmaster.pid")
        const steps: ReadonlyArray<(service: ServiceProcess) => boolean> = [
          () => existsSync(join(folder, "postgres")) || existsSync(postmaster),
          () => existsSync(postmaster),
          () => existsSync(postmaster) && /^ready/m.test(readFileSync(postmaster, "utf8"))
        ]
        for (const step of steps) {
          const service = yield* spawnService({ DATA_DIR: folder })
          yield* waitUntil(() => step(service) || service.output().includes("is ready at"), seconds, 1)
          yield* kill(service)
        }
        const service = yield* startService({ DATA_DIR: folder })
        yield* addNumbers(service, yield* signUp(service.url), 0, 5)
      }),
    seconds
  )

  it.effect(
    "C02 P10 keeps every acknowledged batch whole, and none by half, over kills under load and while it stops",
    () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        let service = yield* startService({ DATA_DIR: folder })
        const key = yield* signUp(service.url)
        const acknowledged: Array<number> = []
        let next = 0
        const batch = (n: number) =>
          `{"operations":[${Array.from({ length: 10 }, () => `{"action":"add","row":{"n":${n}}}`).join()}]}`
        const writeUntilBroken = Effect.gen(function* () {
          while (true) {
            const n = next++
            const answer = yield* Effect.option(call(`${service.url}/v1/notes/batch`, { key, body: batch(n) }))
            if (answer._tag === "None" || answer.value.status !== 200) return
            acknowledged.push(n)
          }
        })
        const ends: ReadonlyArray<Effect.Effect<unknown>> = [
          Effect.suspend(() => kill(service)),
          Effect.suspend(() => Effect.andThen(service.signal("SIGTERM"), kill(service))),
          Effect.suspend(() => {
            process.kill(postmasterOf(folder), "SIGKILL")
            return kill(service)
          })
        ]
        for (const end of ends) {
          const load = yield* Effect.forkScoped(
            Effect.all([writeUntilBroken, writeUntilBroken, writeUntilBroken], { concurrency: "unbounded" })
          )
          const enough = acknowledged.length + 10
          yield* waitUntil(() => acknowledged.length >= enough, seconds, 1)
          yield* end
          yield* Fiber.join(load)
          service = yield* startService({ DATA_DIR: folder })
          const stored = yield* numbersIn(service.url, "notes", key)
          const times = Map.groupBy(stored, (n) => n)
          for (const [n, rows] of times) assert.lengthOf(rows, 10, `batch ${n}`)
          for (const n of acknowledged) assert.isTrue(times.has(n), `batch ${n} was acknowledged`)
          // A table holds a thousand rows.
          yield* Effect.forEach(
            [...times.keys()],
            (n) =>
              call(`${service.url}/v1/notes/update_where`, {
                key,
                body: `{"filter":{"n":${n}},"patch":{"seen":true},"allowMultiple":true}`
              }),
            { concurrency: 4 }
          )
        }
      }),
    seconds
  )

  // https://github.com/VilledeMontreal/express-idempotency/issues/32
  it.effect(
    "C28 P2 makes one row of a call whose process is killed before, in and after its commit",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const admin = yield* poolOf(url)
        // Holds a write between its insert and its commit, as long as somebody has this lock.
        yield* admin`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(28); RETURN NULL; END'`
        yield* admin`CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON rows DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()`
        const waiting = Effect.map(
          admin<{ pid: number }>`SELECT DISTINCT pid FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()`,
          (rows) => rows.map(({ pid }) => pid)
        )
        const beforeInsert = admin`LOCK TABLE rows IN EXCLUSIVE MODE`
        const beforeCommit = admin`SELECT pg_advisory_xact_lock(28)`
        const rounds = [
          { name: "a", hold: beforeInsert, backend: "goes on", freeze: false },
          { name: "a2", hold: beforeInsert, backend: "ends", freeze: false },
          { name: "b", hold: beforeCommit, backend: "ends", freeze: false },
          { name: "b2", hold: beforeCommit, backend: "goes on", freeze: false },
          { name: "c", hold: beforeCommit, backend: "goes on", freeze: true }
        ]
        let service = yield* startService({ DATABASE_URL: url })
        const key = yield* signUp(service.url)
        const countOf = (name: string) =>
          Effect.map(admin`SELECT id FROM rows WHERE table_name = ${name}`, (rows) => rows.length)

        for (const { backend, freeze, hold, name } of rounds) {
          const add = Effect.suspend(() =>
            call(`${service.url}/v1/${name}`, { key, body: '{"n":1}', headers: { "idempotency-key": "k" } })
          )
          const lost = yield* admin.withTransaction(
            Effect.gen(function* () {
              yield* hold
              const call = yield* Effect.forkScoped(Effect.option(add))
              const [pid] = yield* Effect.repeat(waiting, {
                until: (pids) => pids.length > 0,
                schedule: Schedule.spaced("10 millis")
              })
              // A frozen process commits when the lock is gone, and cannot answer.
              if (freeze) yield* service.signal("SIGSTOP")
              else yield* kill(service)
              if (backend === "ends") yield* admin`SELECT pg_terminate_backend(${pid!})`
              return call
            })
          )
          if (freeze) {
            yield* Effect.repeat(countOf(name), {
              until: (count) => count === 1,
              schedule: Schedule.spaced("10 millis")
            })
            yield* kill(service)
          }
          assert.strictEqual((yield* Fiber.join(lost))._tag, "None")
          service = yield* startService({ DATABASE_URL: url })
          const value = yield* add
          assert.strictEqual(value.status, 201, `${name} ${value.text}`)
          if (backend === "ends") assert.isFalse(value.headers.has("idempotent-replayed"), name)
          if (freeze) assert.strictEqual(value.headers.get("idempotent-replayed"), "true")
          assert.strictEqual(yield* countOf(name), 1, name)
        }
      }),
    seconds
  )

  // https://github.com/supabase/auth/issues/1547
  it.effect(
    "C34 says nothing of a mail server that is down",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const service = yield* startService({
          BASE_URL: "https://memory.example.com",
          SMTP_URL: "smtp://127.0.0.1:1",
          DATABASE_URL: url
        })
        for (const email of ["one@example.com", "two@example.com", "one@example.com"]) {
          const body = JSON.stringify({ email })
          const value = yield* call(`${service.url}/auth/magic-link`, { body })
          assert.strictEqual(value.status, 200)
          assert.deepStrictEqual(Object.keys(JSON.parse(value.text) as object).toSorted(), ["expires_at", "ok"])
        }
        // A stop would wait a moment for the mails.
        yield* kill(service)
      }),
    seconds
  )
})
