import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { DatabaseLayer, DatabaseUrl } from "./support/Database.ts"
import { call, freePort, makeFolder, signUp, startService } from "./support/ServiceProcess.ts"
import { refusedStart } from "./support/RefusedStart.ts"

const seconds = 60_000

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "says which settings are wrong, all at once",
    () =>
      Effect.gen(function* () {
        const output = yield* refusedStart({ PORT: "80000", LOG_LEVEL: "loud" })
        assert.include(output, 'PORT is "80000": expected a whole number from 0 to 65535')
        assert.include(output, 'LOG_LEVEL is "loud"')
      }),
    seconds
  )

  it.effect(
    "says that a port is in use",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const port = yield* freePort
        const server = createServer()
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => void server.listen(port, "127.0.0.1", () => resume(Effect.void))),
          () => Effect.sync(() => server.close())
        )
        assert.include(yield* refusedStart({ DATABASE_URL: url }, port), `Port ${port} on 127.0.0.1 is in use.`)
      }),
    seconds
  )

  it.effect(
    "says why a database cannot be used, and does not print its password",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const port = yield* freePort
        const output = yield* refusedStart({ DATABASE_URL: `postgres://user:hunter2@127.0.0.1:${port}/memory` })
        assert.include(output, `The database of DATABASE_URL cannot be used: connect ECONNREFUSED 127.0.0.1:${port}`)
        const missing = Object.assign(new URL(url), { pathname: "/no_such_database" }).href
        assert.include(yield* refusedStart({ DATABASE_URL: missing }), `database "no_such_database" does not exist`)
        assert.notInclude(output, "hunter2")
        const malformed = yield* refusedStart({ DATABASE_URL: "mysql://user:hunter2@127.0.0.1/memory" })
        assert.include(malformed, "DATABASE_URL is (not shown): expected a URL like postgres://")
        assert.notInclude(malformed, "hunter2")
      }),
    seconds
  )

  it.effect(
    "does not serve a public address that it could not send mail from",
    () =>
      Effect.gen(function* () {
        const output = yield* refusedStart({ BASE_URL: "https://memory.example.com" })
        assert.include(output, "SMTP_URL")
        assert.include(output, "MAIL_TO_STDOUT=true")
      }),
    seconds
  )

  it.effect(
    "refuses a folder that another process holds, which is not disturbed",
    () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const first = yield* startService({ DATA_DIR: folder })
        const output = yield* refusedStart({ DATA_DIR: folder })
        assert.include(output, `process ${first.pid}`)
        assert.include(output, folder)
        const key = yield* signUp(first.url)
        assert.strictEqual((yield* call(`${first.url}/v1/notes`, { key, body: "{}" })).status, 201)
      }),
    seconds
  )

  it.effect(
    "says which folder it cannot use, and what to set",
    () =>
      Effect.gen(function* () {
        const file = join(yield* makeFolder, "file")
        writeFileSync(file, "")
        const output = yield* refusedStart({ DATA_DIR: file })
        assert.include(output, `Could not use the folder ${file}: `)
        assert.include(output, "Set DATA_DIR to a folder")
      }),
    seconds
  )
})
