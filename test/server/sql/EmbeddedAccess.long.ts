import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { currentOwner, removeSocketFolder, socketIn, temporaryFolder } from "../../../src/server/sql/EmbeddedAccess.ts"
import { makeEmbedded } from "../../../src/server/sql/EmbeddedPostgres.ts"
import { runs, waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { makeFolder, postmasterOf, startService } from "../../support/ServiceProcess.ts"

const seconds = 60_000

const kill = (pid: number) =>
  Effect.sync(() => process.kill(pid, "SIGKILL")).pipe(Effect.andThen(waitUntil(() => !runs(pid), seconds)))

/** A data directory whose service and server were killed, and the file in which PostgreSQL's user says what ran. */
const killed = Effect.gen(function* () {
  const dataDir = yield* makeFolder
  const service = yield* startService({ DATA_DIR: dataDir })
  const postmaster = postmasterOf(dataDir)
  yield* kill(service.pid)
  yield* kill(postmaster)
  return { dataDir, file: join(dataDir, "postgres", "postmaster.pid") }
})

it.live(
  "The embedded database removes its own socket's folder after a crash, and none that PostgreSQL's file names",
  () =>
    Effect.gen(function* () {
      const { dataDir, file } = yield* killed
      const own = readFileSync(join(dataDir, "socket-folder"), "utf8")
      const other = join(yield* makeFolder, "agent-memory-abc123")
      mkdirSync(other)
      writeFileSync(join(other, "kept"), "")
      const lines = readFileSync(file, "utf8").split("\n")
      writeFileSync(file, lines.with(4, other).join("\n"))
      yield* startService({ DATA_DIR: dataDir })
      assert.isTrue(existsSync(join(other, "kept")))
      assert.isFalse(existsSync(own))
    }),
  seconds
)

it.live(
  "The embedded database writes through no link that stands for PostgreSQL's file",
  () =>
    Effect.gen(function* () {
      const { dataDir, file } = yield* killed
      const target = join(yield* makeFolder, "target")
      const text = "2147483646\nkept\n"
      writeFileSync(target, text, { mode: 0o644 })
      unlinkSync(file)
      symlinkSync(target, file)
      yield* Effect.exit(startService({ DATA_DIR: dataDir }))
      assert.strictEqual(readFileSync(target, "utf8"), text)
    }),
  seconds
)

it.effect(
  "A socket's folder is removed only as it was made: directly in the temporary folder, no link, nothing else in it",
  () =>
    Effect.gen(function* () {
      const owner = currentOwner()
      const remove = (folder: string) => removeSocketFolder(owner, folder)
      const make = () => mkdtempSync(join(temporaryFolder(owner), "agent-memory-"))
      const made = make()
      writeFileSync(socketIn(made), "")
      writeFileSync(`${socketIn(made)}.lock`, "")
      yield* remove(made)
      assert.isFalse(existsSync(made))

      const used = make()
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(used, { recursive: true })))
      writeFileSync(join(used, "kept"), "")
      yield* remove(used)
      assert.isTrue(existsSync(join(used, "kept")))

      const link = join(temporaryFolder(owner), `agent-memory-${used.slice(-5)}x`)
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(link)))
      writeFileSync(socketIn(used), "")
      symlinkSync(used, link)
      yield* remove(link)
      assert.isTrue(lstatSync(link).isSymbolicLink() && existsSync(socketIn(used)))

      const deeper = join(yield* makeFolder, "agent-memory-abc123")
      mkdirSync(deeper)
      yield* remove(deeper)
      yield* remove(join(tmpdir(), "agent-memory-abc123", ".."))
      assert.isTrue(existsSync(deeper))
    })
)

/** Asks for a session as the database's superuser, and prints what PostgreSQL answers. */
const knock = `
  const parameters = Buffer.from("user\\0postgres\\0database\\0agent_memory\\0\\0")
  const head = Buffer.alloc(8)
  head.writeInt32BE(8 + parameters.length, 0)
  head.writeInt32BE(196608, 4)
  const socket = require("node:net").connect(process.argv[1], () => socket.write(Buffer.concat([head, parameters])))
  socket.once("data", (answer) => process.stdout.write(answer, () => process.exit()))
  socket.once("error", ({ message }) => process.stdout.write(message, () => process.exit()))
`

it.live(
  "Under root the embedded database lets no other process of its user in",
  (context) =>
    Effect.gen(function* () {
      if (process.getuid?.() !== 0) return context.skip("not started as root")
      const dataDir = yield* makeFolder
      const { host } = yield* makeEmbedded({ dataDir, durable: false })
      const { gid, uid } = lstatSync(join(dataDir, "postgres"))
      assert.isAbove(uid, 0)
      const asRoot = spawnSync(process.execPath, ["-e", knock, socketIn(host)], { encoding: "utf8" })
      assert.strictEqual(asRoot.stdout[0], "R", asRoot.stdout)
      const { error, stdout } = spawnSync(process.execPath, ["-e", knock, socketIn(host)], {
        encoding: "utf8",
        cwd: "/",
        uid,
        gid
      })
      if (error !== undefined) return context.skip(`${process.execPath} cannot be started as another user`)
      assert.include(stdout, "Peer authentication failed")
    }),
  seconds
)
