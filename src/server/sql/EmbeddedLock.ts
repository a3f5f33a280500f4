import { Effect, Option, Schema } from "effect"
import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  write,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { attempt, EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import { pause, processSpace, startOf, waitUntil } from "./EmbeddedProcess.ts"

/** Schema for the lock file: who holds a data directory. */
const Holder = Schema.Struct({ pid: Schema.Int, started: Schema.String, space: Schema.String })
type Holder = typeof Holder.Type

const HolderJson = Schema.fromJsonString(Holder)
const encode = Schema.encodeSync(HolderJson)
const decode = Schema.decodeUnknownOption(HolderJson)

const lockOf = (home: string) => join(home, "agent-memory.lock")

const beatMilliseconds = 500
const silentMilliseconds = 3000

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

const beatOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs

/**
 * Process ids mean nothing to another container or host on the same volume. There the holder shows that it lives by
 * touching its lock, so a lock that stays untouched is a dead holder's.
 */
const beats = (file: string) => {
  const before = beatOf(file)
  return waitUntil(() => beatOf(file) !== before, silentMilliseconds)
}

const lives = (file: string, holder: Holder): Effect.Effect<boolean> =>
  holder.space === processSpace() ? Effect.sync(() => startOf(holder.pid) === holder.started) : beats(file)

/** The process that holds a data directory now, if one does. */
export const findHolder = Effect.fn("EmbeddedPostgres.findHolder")(function* (home: string) {
  const file = lockOf(home)
  const holder = decode(read(file))
  return Option.isSome(holder) && (yield* lives(file, holder.value)) ? Option.some(holder.value.pid) : Option.none()
})

const held = (home: string, holder: Holder) =>
  new EmbeddedPostgresError({
    reason: "Held",
    holder: holder.pid,
    message:
      `Another Agent Memory, process ${holder.pid}${holder.space === processSpace() ? "" : " on another host or container"}, ` +
      `uses the data in ${home}. Stop it first, or set DATA_DIR to another folder; several instances share one ` +
      `database through DATABASE_URL.`
  })

/** Creates the lock with its content in one step, so that nobody ever reads half of it. */
const create = (file: string, text: string): boolean => {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

const replace = (file: string, text: string, dead: string | undefined): boolean => {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  if (read(file) !== dead) {
    rmSync(draft, { force: true })
    return false
  }
  renameSync(draft, file)
  return true
}

const take: (home: string, file: string, text: string) => Effect.Effect<void, EmbeddedPostgresError> =
  Effect.fnUntraced(function* (home, file, text) {
    if (yield* attempt(`create ${file}`, () => create(file, text))) return
    const found = read(file)
    const holder = decode(found)
    if (Option.isSome(holder) && (yield* lives(file, holder.value))) return yield* held(home, holder.value)
    const replaced = yield* attempt(`take over ${file}`, () => replace(file, text, found))
    // Of two processes that take over one dead holder's lock at once, the later one overwrites the earlier one's.
    if (replaced) yield* pause(50)
    if (read(file) !== text) yield* take(home, file, text)
  })

const keepBeating = (file: string, text: string) =>
  Effect.acquireRelease(
    attempt(`open ${file}`, () => {
      const descriptor = openSync(file, "r+")
      const timer = setInterval(() => write(descriptor, text, 0, () => {}), beatMilliseconds).unref()
      return { descriptor, timer }
    }),
    ({ descriptor, timer }) =>
      Effect.sync(() => {
        clearInterval(timer)
        closeSync(descriptor)
      })
  )

/** Holds a data directory for this process until the scope closes, or fails naming the process that holds it. */
export const holdLock = Effect.fn("EmbeddedPostgres.holdLock")(function* (home: string) {
  const file = lockOf(home)
  const text = encode({ pid: process.pid, started: startOf(process.pid) ?? "", space: processSpace() })
  yield* Effect.acquireRelease(take(home, file, text), () =>
    Effect.sync(() => {
      if (read(file) === text) rmSync(file, { force: true })
    })
  )
  yield* keepBeating(file, text)
})
