import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { headerProxy } from "../../support/HeaderProxy.ts"
import { authorizeQuery, newClient, pkce } from "../../support/OAuth.ts"
import { call, freePort, makeFolder } from "../../support/ServiceProcess.ts"
import { BaseUrl, localHeaders, localSecret, serviceLayer } from "../../support/TestService.ts"
import { askForCode, newEmail, newVisitor } from "../pages/Visitor.ts"
import { jsonOf, wire, type WireAnswer } from "./Wire.ts"

const hasNginx = spawnSync("nginx", ["-v"]).error === undefined

/** nginx with one line of settings, as its documentation begins with. Gives its address. */
const nginx = Effect.fnUntraced(function* (target: string) {
  const folder = yield* makeFolder
  const port = yield* freePort
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  const settings = `
    daemon off;
    master_process off;
    pid ${join(folder, "pid")};
    error_log ${join(folder, "error.log")};
    events {}
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${join(folder, name)};`).join("\n")}
      server { listen 127.0.0.1:${port}; location / { proxy_pass ${target}; } }
    }`
  writeFileSync(join(folder, "nginx.conf"), settings)
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"], { stdio: "ignore" })
    ),
    (child) =>
      Effect.gen(function* () {
        child.kill("SIGTERM")
        yield* waitUntil(() => child.exitCode !== null || child.signalCode !== null, 10_000)
      })
  )
  const url = `http://127.0.0.1:${port}`
  yield* call(`${url}/health`).pipe(
    Effect.retry({ until: () => child.exitCode !== null }),
    Effect.timeout("10 seconds")
  )
  return url
})

/** A proxy that says nothing of itself and calls the service by the name that it has on this machine. */
const bareNode = (target: string) => headerProxy(target, { host: new URL(target).host })

const proxies = {
  "nginx with a bare proxy_pass": { open: nginx, isThere: hasNginx },
  "a proxy that adds no header": { open: bareNode, isThere: true }
}

/** Goes every way to a sign-in mail that there is, and gives all that came back. */
const askEverywhere = Effect.fnUntraced(function* (headers: Record<string, string>) {
  const visitor = newVisitor()
  const { client_id } = yield* newClient()
  const returnTo = `/authorize?${authorizeQuery({ client_id }, pkce().challenge)}`
  const answers: Array<WireAnswer> = [
    yield* wire("POST", "/auth/magic-link", { body: JSON.stringify({ email: newEmail() }), headers }),
    yield* visitor.get(returnTo, headers),
    yield* askForCode(visitor, newEmail(), returnTo, headers),
    yield* visitor.get("/sign-in/code", headers),
    yield* visitor.post("/sign-in/code", { code: "" }, headers),
    yield* askForCode(visitor, newEmail(), "/apps", headers),
    yield* visitor.get("/sign-in/code", headers)
  ]
  const [asked, , begun] = answers
  assert.strictEqual(asked?.status, 200, asked?.text)
  assert.strictEqual(begun?.headers["location"], "/sign-in/code", begun?.text)
  return answers
})

/** The links' tokens and the codes of all mails. */
const mailed = Effect.gen(function* () {
  const mails = yield* (yield* Outbox).sent
  const found = mails.flatMap(({ text }) => [...text.matchAll(/token=([\w-]+)|^([0-9]{6})$/gm)])
  return found.map(([, token, code]) => token ?? code ?? "")
})

const service = serviceLayer({ LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: "1000" })

for (const [name, { isThere, open }] of Object.entries(proxies)) {
  layer(service, { excludeTestServices: true, timeout: 60_000 })(`Behind ${name}`, (it) => {
    const test = isThere ? it.effect : it.effect.skip

    /** Does it through the proxy instead of directly. */
    const through = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
      const { url } = yield* BaseUrl
      return yield* Effect.provideService(effect, BaseUrl, { url: yield* open(url) })
    }, Effect.scoped)

    test(`P45 nobody without the local secret is shown a link, a code or the metrics${isThere ? "" : " (needs nginx)"}`, () =>
      Effect.gen(function* () {
        const secret = yield* localSecret
        const strangers: ReadonlyArray<Record<string, string>> = [
          {},
          { host: "memory.example.com" },
          { "x-local-secret": secret.slice(0, -1) },
          { "x-forwarded-for": "203.0.113.7" }
        ]
        for (const headers of strangers) {
          const answers = yield* through(askEverywhere(headers))
          const secrets = yield* mailed
          assert.isAtLeast(secrets.length, 5)
          for (const { headers, text } of answers) {
            for (const secret of secrets) assert.notInclude(`${JSON.stringify(headers)}\n${text}`, secret)
          }
          assert.deepStrictEqual(Object.keys(jsonOf(answers[0]!)), ["ok", "expires_at"])
          assert.notInclude((yield* through(wire("GET", "/metrics", { headers }))).text, "agent_memory_")
        }
      }))

    test(`whoever has the local secret is shown them${isThere ? "" : " (needs nginx)"}`, () =>
      Effect.gen(function* () {
        const answers = yield* through(askEverywhere(yield* localHeaders))
        assert.include(answers[0]!.text, "dev_magic_link")
        assert.match(answers[3]!.text, /Code: <code>\d{6}<\/code>/)
      }))
  })
}
