import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { findLocalSecret, keepLocalSecret } from "../../../src/server/doors/LocalSecret.ts"
import { makeFolder } from "../../support/ServiceProcess.ts"

const secretOf = (letter: string) => `svc_local_${letter.repeat(43)}`
const [first, second] = [secretOf("a"), secretOf("b")]
const isRoot = process.geteuid?.() === 0

/** A DATA_DIR, and where its secret is. */
const dataDir = Effect.map(makeFolder, (folder) => ({ folder, file: join(folder, "local-secret") }))

/** What a start and the doctor say of a DATA_DIR whose secret can't be used. */
const refusal = Effect.fnUntraced(function* (folder: string) {
  const { message } = yield* Effect.flip(keepLocalSecret(folder, second))
  assert.strictEqual((yield* Effect.flip(findLocalSecret(folder))).message, message)
  return message
})

it.effect("A local secret is made once, in a folder that is made for it, and is kept", () =>
  Effect.gen(function* () {
    const { folder } = yield* dataDir
    const inner = join(folder, "some", "data")
    assert.deepStrictEqual(yield* findLocalSecret(inner), Option.none())
    assert.isFalse(existsSync(inner))
    assert.strictEqual(yield* keepLocalSecret(inner, first), first)
    assert.strictEqual(yield* keepLocalSecret(inner, second), first)
    assert.deepStrictEqual(yield* findLocalSecret(inner), Option.some(first))
    assert.deepStrictEqual(readdirSync(inner), ["local-secret"])
    assert.strictEqual(readFileSync(join(inner, "local-secret"), "utf8"), first)
    assert.strictEqual(statSync(join(inner, "local-secret")).mode & 0o777, 0o600)
    assert.strictEqual(statSync(inner).mode & 0o777, 0o700)
  })
)

it.effect("A local secret is its owner's alone under any umask, and may end with a line end", () =>
  Effect.gen(function* () {
    const { file, folder } = yield* dataDir
    const umask = process.umask(0)
    yield* Effect.addFinalizer(() => Effect.sync(() => process.umask(umask)))
    yield* keepLocalSecret(folder, first)
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    writeFileSync(file, `${second}\n`)
    assert.strictEqual(yield* keepLocalSecret(folder, first), second)
  })
)

it.effect("Of processes that start at once in one DATA_DIR, all have the same local secret", () =>
  Effect.gen(function* () {
    const { folder } = yield* dataDir
    const source = new URL("../../../src/server/doors/LocalSecret.ts", import.meta.url).href
    const program = `
      import { Effect } from "effect"
      import { keepLocalSecret } from ${JSON.stringify(source)}
      const [, folder, letter] = process.argv
      process.stdout.write(await Effect.runPromise(keepLocalSecret(folder, "svc_local_" + letter.repeat(43))))
    `
    const { stdout } = spawnSync(
      "sh",
      [
        "-c",
        `for one in a b c d; do "$0" --input-type=module -e "$1" "$2" "$one" & done; wait`,
        process.execPath,
        program,
        folder
      ],
      { encoding: "utf8", cwd: new URL("../../..", import.meta.url) }
    )
    const kept = readFileSync(join(folder, "local-secret"), "utf8")
    assert.strictEqual(stdout, kept.repeat(4))
    assert.deepStrictEqual(readdirSync(folder), ["local-secret"])
  })
)

const unusable: Record<string, readonly [prepare: (file: string, folder: string) => void, why: string]> = {
  "that others may read": [
    (file) => {
      writeFileSync(file, first)
      chmodSync(file, 0o644)
    },
    "its mode is 644"
  ],
  "that others may write": [
    (file) => {
      writeFileSync(file, first)
      chmodSync(file, 0o620)
    },
    "its mode is 620"
  ],
  "that is empty": [(file) => writeFileSync(file, "", { mode: 0o600 }), "its content is not a secret"],
  "that is short": [(file) => writeFileSync(file, "svc_local_x", { mode: 0o600 }), "its content is not a secret"],
  "that holds more": [
    (file) => writeFileSync(file, `${first}\n${first}${"x".repeat(9999)}`, { mode: 0o600 }),
    "its content is not a secret"
  ],
  "that is a link to a good one": [
    (file, folder) => {
      writeFileSync(join(folder, "elsewhere"), first, { mode: 0o600 })
      symlinkSync(join(folder, "elsewhere"), file)
    },
    "it is a symbolic link"
  ],
  "that is a link to nowhere": [(file) => symlinkSync("/nowhere/at/all", file), "it is a symbolic link"],
  "that is a folder": [(file) => mkdirSync(file), "it is not a regular file"],
  "that is a pipe, without waiting for its writer": [
    (file) => void spawnSync("mkfifo", ["-m", "600", file]),
    "it is not a regular file"
  ]
}

for (const [what, [prepare, why]] of Object.entries(unusable)) {
  it.effect(`A local secret ${what} is refused, with the file's name and what to do`, () =>
    Effect.gen(function* () {
      const { file, folder } = yield* dataDir
      prepare(file, folder)
      const message = yield* refusal(folder)
      assert.include(message, `The local secret in ${file} is not used: `)
      assert.include(message, why)
      assert.include(message, "Delete the file; the next start creates a new secret.")
      assert.notInclude(message, first)
      rmSync(file, { recursive: true })
      assert.strictEqual(yield* keepLocalSecret(folder, second), second)
    })
  )
}

it.effect("A local secret that cannot be kept says why, and leads to DATA_DIR", () =>
  Effect.gen(function* () {
    const { folder } = yield* dataDir
    writeFileSync(join(folder, "file"), "")
    const places = [join(folder, "file"), join(folder, "file", "data"), "/proc/nowhere"]
    for (const place of places) {
      const { message } = yield* Effect.flip(keepLocalSecret(place, first))
      assert.match(message, /^The local secret .*local-secret.* \(E[A-Z]+\)\. .*DATA_DIR/)
    }
  })
)

const asRoot = isRoot ? it.effect : it.effect.skip
const asNobody = { uid: 65534, gid: 65534, encoding: "utf8" } as const

asRoot("A local secret of another user is refused (as root only)", () =>
  Effect.gen(function* () {
    const { file, folder } = yield* dataDir
    writeFileSync(file, first, { mode: 0o600 })
    chownSync(file, 65534, 65534)
    assert.include(yield* refusal(folder), "it belongs to another user (uid 65534)")
    // Nor under another name of another user's file.
    rmSync(file)
    const planted = join(folder, "planted")
    writeFileSync(planted, first, { mode: 0o600 })
    chownSync(planted, 65534, 65534)
    linkSync(planted, file)
    assert.include(yield* refusal(folder), "it belongs to another user (uid 65534)")
  })
)

asRoot("P45 A local secret can't be read by another user, who can't start there without it either (as root only)", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync("/tmp/agent-memory-test-")),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
    )
    chmodSync(folder, 0o755)
    yield* keepLocalSecret(folder, first)
    const file = join(folder, "local-secret")
    const read = spawnSync("cat", [file], asNobody)
    assert.strictEqual(read.stdout, "")
    assert.include(read.stderr, "Permission denied")
    assert.notStrictEqual(spawnSync("sh", ["-c", 'echo x > "$0"', file], asNobody).status, 0)
    assert.notStrictEqual(spawnSync("mv", [file, `${file}.old`], asNobody).status, 0)
    assert.strictEqual(readFileSync(file, "utf8"), first)
  })
)
