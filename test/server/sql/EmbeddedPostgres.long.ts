import { PgConnection } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Option, Schedule } from "effect"
import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { homeOf, makeEmbedded, type EmbeddedPostgresAddress } from "../../../src/server/sql/EmbeddedPostgres.ts"
import { findHolder, runs, waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { within } from "../../support/OwnTime.ts"

const seconds = 60_000

const makeDataDir = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "agent-memory-test-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** The process id of the Agent Memory that uses a data directory, if any. */
const holderOf = (dataDir: string) => Effect.flatMap(homeOf(dataDir), findHolder)

const start = (dataDir: string) => makeEmbedded({ dataDir, durable: false })

const query = (address: EmbeddedPostgresAddress, ...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const connection = yield* PgConnection.make(address)
    return yield* Effect.forEach(statements, (statement) => connection.queryValues(statement))
  }).pipe(Effect.scoped)

const writeNote = (address: EmbeddedPostgresAddress) =>
  query(address, "CREATE TABLE notes (body text)", "INSERT INTO notes VALUES ('kept')")

const readNotes = (address: EmbeddedPostgresAddress) =>
  Effect.map(query(address, "SELECT body FROM notes"), ([rows]) => rows)

const postmasterOf = (dataDir: string) =>
  Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0])

/** Starts another process on the data directory and waits until its database answers. */
const spawnHolder = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.callback<
      { readonly child: ChildProcess; readonly pid: number; readonly address: EmbeddedPostgresAddress },
      string
    >((resume) => {
      const script = fileURLToPath(new URL("EmbeddedHolder.ts", import.meta.url))
      const child = spawn(process.execPath, [script, dataDir], { stdio: ["ignore", "pipe", "inherit"] })
      let output = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text
        // Behind what was logged.
        const address = /^\{.*\}$/m.exec(output)?.[0]
        if (address !== undefined) {
          resume(Effect.succeed({ child, pid: child.pid ?? 0, address: JSON.parse(address) }))
        }
      })
      child.once("exit", () => resume(Effect.fail(output)))
    }),
    ({ child }) =>
      Effect.sync(() => child.kill("SIGTERM")).pipe(
        Effect.andThen(waitUntil(() => child.exitCode !== null || child.signalCode !== null, seconds))
      )
  )

const kill = (pid: number) =>
  Effect.sync(() => process.kill(pid, "SIGKILL")).pipe(Effect.andThen(waitUntil(() => !runs(pid), seconds)))

it.effect(
  "starts on an empty folder with text ordered by code point",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      const address = yield* start(dataDir)
      const [locale, encoding, sockets] = yield* query(
        address,
        "SELECT datlocprovider::text, datlocale FROM pg_database WHERE datname = current_database()",
        "SHOW server_encoding",
        "SHOW listen_addresses"
      )
      assert.deepStrictEqual(locale, [["b", "C.UTF-8"]])
      assert.deepStrictEqual(encoding, [["UTF8"]])
      assert.deepStrictEqual(sockets, [[""]])
    }),
  seconds
)

it.effect(
  "keeps commits on disk unless told otherwise",
  () =>
    Effect.gen(function* () {
      const address = yield* makeEmbedded({ dataDir: yield* makeDataDir })
      assert.deepStrictEqual(yield* query(address, "SHOW fsync", "SHOW synchronous_commit"), [[["on"]], [["on"]]])
    }),
  seconds
)

it.effect(
  "starts after a server was killed before it had noted its process",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      yield* Effect.scoped(Effect.flatMap(start(dataDir), writeNote))
      writeFileSync(join(dataDir, "postgres", "postmaster.pid"), "")
      assert.deepStrictEqual(yield* readNotes(yield* start(dataDir)), [["kept"]])
    }),
  seconds
)

it.effect(
  "stops with its scope and starts again on the same data",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      const postmaster = yield* Effect.scoped(
        Effect.gen(function* () {
          yield* writeNote(yield* start(dataDir))
          return postmasterOf(dataDir)
        })
      )
      assert.isFalse(runs(postmaster))
      assert.deepStrictEqual(yield* holderOf(dataDir), Option.none())
      assert.deepStrictEqual(yield* readNotes(yield* start(dataDir)), [["kept"]])
    }),
  seconds
)

it.live(
  "refuses a folder that another process holds, and names that process",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      const holder = yield* spawnHolder(dataDir)
      const refusal = yield* Effect.flip(start(dataDir)).pipe(within(5000))
      assert.strictEqual(refusal.reason, "Held")
      assert.strictEqual(refusal.holder, holder.pid)
      assert.include(refusal.message, `process ${holder.pid}`)
      assert.deepStrictEqual(yield* holderOf(dataDir), Option.some(holder.pid))
      yield* writeNote(holder.address)
    }),
  seconds
)

it.live(
  "takes over the server of a process that was killed",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      const holder = yield* spawnHolder(dataDir)
      yield* writeNote(holder.address)
      const postmaster = postmasterOf(dataDir)
      yield* kill(holder.pid)
      const address = yield* start(dataDir)
      assert.strictEqual(postmasterOf(dataDir), postmaster)
      assert.deepStrictEqual(yield* readNotes(address), [["kept"]])
      assert.deepStrictEqual(yield* holderOf(dataDir), Option.some(process.pid))
    }),
  seconds
)

it.live(
  "recovers when the server was killed too",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      const holder = yield* spawnHolder(dataDir)
      yield* writeNote(holder.address)
      yield* kill(holder.pid)
      yield* kill(postmasterOf(dataDir))
      assert.deepStrictEqual(yield* readNotes(yield* start(dataDir)), [["kept"]])
      assert.isFalse(existsSync(holder.address.host))
    }),
  seconds
)

it.live(
  "P12 starts a server again that was killed under it, at the same address",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      const address = yield* makeEmbedded({ dataDir })
      yield* writeNote(address)
      const postmaster = postmasterOf(dataDir)
      yield* kill(postmaster)
      const notes = yield* readNotes(address).pipe(Effect.retry(Schedule.spaced("20 millis")))
      assert.deepStrictEqual(notes, [["kept"]])
      assert.notStrictEqual(postmasterOf(dataDir), postmaster)
    }),
  seconds
)

it.live(
  "gives a dead process's folder to exactly one of several that ask at once",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      yield* kill((yield* spawnHolder(dataDir)).pid)
      const attempts = yield* Effect.all(
        Array.from({ length: 4 }, () => Effect.exit(spawnHolder(dataDir))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(attempts.filter((attempt) => attempt._tag === "Success").length, 1)
    }),
  seconds
)

it.effect(
  "refuses the data of another PostgreSQL major and leaves it alone",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      mkdirSync(join(dataDir, "postgres"))
      writeFileSync(join(dataDir, "postgres", "PG_VERSION"), "12\n")
      const refusal = yield* Effect.flip(Effect.scoped(start(dataDir)))
      assert.strictEqual(refusal.reason, "OtherMajor")
      assert.include(refusal.message, "PostgreSQL 12")
      assert.include(refusal.message, "export")
      assert.deepStrictEqual(readdirSync(join(dataDir, "postgres")), ["PG_VERSION"])
      assert.deepStrictEqual(yield* holderOf(dataDir), Option.none())
    }),
  seconds
)

it.effect(
  "starts over where the first start was cut short",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* makeDataDir
      mkdirSync(join(dataDir, "postgres.new-abandoned"))
      writeFileSync(join(dataDir, "postgres.new-abandoned", "PG_VERSION"), "18\n")
      yield* writeNote(yield* start(dataDir))
      assert.deepStrictEqual(
        readdirSync(dataDir).filter((name) => name.startsWith("postgres.new")),
        []
      )
    }),
  seconds
)
