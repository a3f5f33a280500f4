import { assert, it as plain, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { chmodSync, existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SMTPServer } from "smtp-server"
import { agentMemory, hasTerminal, inTerminal } from "../support/CommandLine.ts"
import { DatabaseUrl } from "../support/Database.ts"
import { connect, newClient, newPerson } from "../support/OAuth.ts"
import { noRedis, RedisServer } from "../support/RedisServer.ts"
import { freePort, makeFolder, startService } from "../support/ServiceProcess.ts"
import { serviceLayer } from "../support/TestService.ts"

interface Finding {
  readonly check: string
  readonly status: string
  readonly detail: string
  readonly fix?: string
}

/** The port of the service that is examined, which another one in this process shares its accounts with. */
class Port extends Context.Service<Port, number>()("agent-memory/test/cli/Doctor/Port") {}

const ServiceLayer = Layer.unwrap(
  Effect.map(freePort, (port) =>
    Layer.merge(serviceLayer({ BASE_URL: `http://localhost:${port}` }), Layer.succeed(Port, port))
  )
)

/** What the doctor finds with these variables, by check; the status and the fix where there is one. */
const examine = Effect.fnUntraced(function* (variables: Record<string, string>) {
  const { code, out } = yield* agentMemory(["doctor", "--json"], { variables })
  const { checks, healthy } = JSON.parse(out) as { healthy: boolean; checks: ReadonlyArray<Finding> }
  assert.strictEqual(code, healthy ? 0 : 1)
  const found = (check: string) => checks.find((finding) => finding.check === check)!
  return { healthy, checks, found }
})

/** A mail server that lets one user in. */
const mailServer = Effect.fnUntraced(function* (password: string) {
  const port = yield* freePort
  yield* Effect.acquireRelease(
    Effect.callback<SMTPServer>((resume) => {
      const server = new SMTPServer({
        authOptional: false,
        disabledCommands: ["STARTTLS"],
        allowInsecureAuth: true,
        onAuth: (auth, _session, done) =>
          auth.password === password ? done(null, { user: auth.username }) : done(new Error("Invalid credentials"))
      })
      server.on("error", () => undefined)
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)))
  )
  return port
})

if (!hasTerminal) plain.skip("doctor in a terminal: no python3 to make one", () => undefined)

layer(ServiceLayer, { excludeTestServices: true, timeout: "120 seconds" })("doctor", (it) => {
  it.effect(
    "finds everything well with a service that runs, and makes an agent's round trip where it has a token",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const port = yield* Port
        yield* startService({ DATABASE_URL: url, BASE_URL: `http://localhost:${port}` }, port)
        const person = yield* newPerson
        const { access_token } = yield* connect(person, yield* newClient())
        const variables = { DATABASE_URL: url, PORT: String(port) }
        const all = {
          ...variables,
          AGENT_MEMORY_ACCESS_TOKEN: access_token,
          AGENT_MEMORY_API_KEY: person.apiKey
        }
        const { checks, found, healthy } = yield* examine(all)
        assert.isTrue(healthy)
        assert.deepStrictEqual(
          checks.map(({ check, status }) => `${check}: ${status}`),
          [
            "configuration: ok",
            "database: ok",
            "mail: ok",
            "public URL: ok",
            "proxy scheme: skipped",
            "well-known documents: ok",
            "MCP sign-in: ok",
            "MCP round trip: ok",
            "API key: ok"
          ]
        )
        assert.strictEqual(found("MCP round trip").detail, "initialize, and tools/list with 20 tools")
        assert.strictEqual(found("API key").detail, `gives access to account ${person.accountId}`)

        const stale = yield* examine({
          ...all,
          AGENT_MEMORY_ACCESS_TOKEN: "amo_nothing",
          AGENT_MEMORY_API_KEY: "svc_live_x"
        })
        assert.strictEqual(
          stale.found("MCP round trip").fix,
          "The access token is unknown, revoked or expired. Use a new one."
        )
        assert.include(stale.found("API key").fix, "keys create --email")

        // Another public address than the service was started with.
        const other = yield* examine({ ...variables, BASE_URL: `http://127.0.0.1:${port}` })
        assert.isFalse(other.healthy)
        assert.include(
          other.found("well-known documents").fix,
          `Start the service with BASE_URL=http://127.0.0.1:${port}`
        )
        const wrong = yield* examine({ ...variables, BASE_URL: "http://localhost:1" })
        assert.include(
          wrong.found("public URL").detail,
          `the service runs at http://127.0.0.1:${port}, but http://localhost:1`
        )
        assert.include(wrong.found("public URL").fix, "forward every path to")

        const { code, out } = yield* agentMemory(["doctor"], { variables })
        assert.strictEqual(code, 0)
        const lines = out.trimEnd().split("\n")
        assert.lengthOf(lines, 9)
        for (const line of lines) assert.match(line, /^(?:ok {6}|skipped ) ?[A-Za-z]/)
        assert.notInclude(out, "\u001b")

        if (!hasTerminal) return
        const plainOut = yield* inTerminal(40, ["doctor"], { variables: { ...variables, NO_COLOR: "1" } })
        assert.notInclude(plainOut.out, "\u001b")
        const longWord = /^\S*\S{30}/
        for (const line of plainOut.out.split("\n")) {
          assert.isTrue(line.length <= 40 || longWord.test(line.trim()) || /\S{25}/.test(line), line)
        }
        const colored = yield* inTerminal(80, ["doctor"], { variables })
        assert.include(colored.out, "\u001b[32mok")
      })
  )

  it.effect("leads from settings that cannot be used to ones that can, step by step", () =>
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      const port = yield* freePort
      const first = yield* examine({ PORT: "x", LOG_LEVEL: "loud", DATABASE_URL: "mysql://a:hunter2@b/c" })
      assert.deepStrictEqual(
        first.checks.filter(({ status }) => status === "failed").map(({ detail }) => detail),
        ['PORT is "x"', "DATABASE_URL is (not shown)", 'LOG_LEVEL is "loud"']
      )
      assert.include(first.checks[0]!.fix, "Set PORT to a whole number from 0 to 65535.")
      assert.strictEqual(first.found("public URL").status, "skipped")

      const unreachable = yield* examine({ PORT: String(port), DATABASE_URL: "postgres://a:hunter2@127.0.0.1:1/b" })
      assert.include(unreachable.found("database").detail, "connect ECONNREFUSED 127.0.0.1:1")
      assert.include(unreachable.found("database").fix, "Check DATABASE_URL")
      assert.include(unreachable.found("public URL").fix, "Start it with `agent-memory`")
      assert.notInclude(JSON.stringify(unreachable.checks), "hunter2")

      const exposed = yield* examine({
        PORT: String(port),
        DATABASE_URL: url,
        BASE_URL: "http://memory.invalid",
        MAIL_TO_STDOUT: "true"
      })
      assert.deepStrictEqual(
        exposed.checks.filter(({ status }) => status === "warning").map(({ fix }) => fix),
        [
          "Put a proxy with TLS in front, and set BASE_URL to the https URL.",
          "Set TRUSTED_PROXIES to the proxy's address, for example 127.0.0.1.",
          "Set SMTP_URL=smtps://user:password@mail.example.com."
        ]
      )
      assert.strictEqual(exposed.found("database").status, "ok")
      yield* startService({ DATABASE_URL: url }, port)
      assert.isTrue((yield* examine({ PORT: String(port), DATABASE_URL: url })).healthy)
    })
  )

  it.effect("says where the local secret is, and what to do where it can't be used", () =>
    Effect.gen(function* () {
      const folder = yield* makeFolder
      const file = join(folder, "local-secret")
      const mail = Effect.map(
        examine({ DATABASE_URL: "postgres://127.0.0.1:1/b", PORT: "1", DATA_DIR: folder }),
        ({ found }) => found("mail")
      )
      assert.deepInclude(yield* mail, { status: "ok" })
      assert.include((yield* mail).detail, `the secret in ${file}`)
      assert.isFalse(existsSync(file))
      writeFileSync(file, `svc_local_${"a".repeat(43)}`)
      chmodSync(file, 0o644)
      const open = yield* mail
      assert.strictEqual(open.status, "failed")
      assert.include(open.detail, "its mode is 644")
      assert.include(open.fix, "Delete the file; the next start creates a new secret.")
      assert.notInclude(JSON.stringify(open), "aaaa")
    })
  )

  it.effect("asks the mail server whether it lets the service in, and sends no mail", () =>
    Effect.gen(function* () {
      const smtp = yield* mailServer("secret")
      const mail = (user: string, port: number) =>
        Effect.map(
          examine({
            SMTP_URL: `smtp://${user}@127.0.0.1:${port}`,
            DATABASE_URL: "postgres://127.0.0.1:1/b",
            PORT: "1"
          }),
          ({ found }) => found("mail")
        )
      assert.strictEqual((yield* mail("ada:secret", smtp)).status, "ok")
      const refused = yield* mail("ada:hunter2", smtp)
      assert.strictEqual(refused.status, "failed")
      assert.include(refused.fix, "Check the user and password in SMTP_URL")
      assert.notInclude(JSON.stringify(refused), "hunter2")
      const away = yield* mail("ada:secret", 1)
      assert.include(away.detail, "ECONNREFUSED")
      assert.include(away.fix, "Check the host and port in SMTP_URL")
    })
  )

  it.effect("says whether Redis can keep the rate limits, where it is to", () =>
    Effect.gen(function* () {
      const limits = (url: string) =>
        Effect.map(examine({ REDIS_URL: url, DATABASE_URL: "postgres://127.0.0.1:1/b", PORT: "1" }), ({ found }) =>
          found("rate limits")
        )
      const away = yield* limits("redis://ada:hunter2@127.0.0.1:1")
      assert.strictEqual(away.status, "warning")
      assert.include(away.fix, "Check the address and password in REDIS_URL")
      assert.notInclude(JSON.stringify(away), "hunter2")
      if (noRedis === undefined) {
        const { url } = Context.get(yield* Layer.build(RedisServer.layer), RedisServer)
        assert.deepInclude(yield* limits(url), { status: "ok", detail: "stored in Redis" })
      }
    })
  )
})
