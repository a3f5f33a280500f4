import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { runs, waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { startTestServer, type RunningTestServer } from "../../src/testing/startTestServer.ts"

const seconds = 60_000

interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

const call = async (
  server: RunningTestServer,
  path: string,
  body?: unknown,
  key: string = server.apiKey
): Promise<Reply> => {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const minute = 60_000
const day = 24 * 60 * minute

describe("startTestServer", () => {
  let server: RunningTestServer
  beforeAll(async () => {
    server = await startTestServer({ variables: { LIMIT_WRITES_PER_MINUTE: "3" } })
  }, seconds)
  beforeEach(() => server.reset())
  afterAll(() => server.stop())

  it("gives an address and a key that stores rows", async () => {
    assert.match(server.url, /^http:\/\/localhost:\d+$/)
    const { body, status } = await call(server, "/v1/tasks", { title: "Buy milk" })
    assert.strictEqual(status, 201)
    assert.deepStrictEqual((await call(server, "/v1/tasks")).body, { rows: [body], has_more: false })
  })

  it("lets a limit pass by advancing the time, and without that holds it", async () => {
    for (let n = 0; n < 3; n++) assert.strictEqual((await call(server, "/v1/tasks", { n })).status, 201)
    assert.strictEqual((await call(server, "/v1/tasks", {})).status, 429)
    await server.advance(minute)
    assert.strictEqual((await call(server, "/v1/tasks", {})).status, 201)
  })

  it("adds up what time is advanced, and takes it from the real time", async () => {
    await server.advance(day)
    await server.advance(day)
    const { body } = await call(server, "/v1/tasks", {})
    assert.closeTo(Date.parse(String(body["created_at"])), Date.now() + 2 * day, minute)
  })

  it("says that time goes forward only", async () => {
    for (const wrong of [-minute, Number.NaN, Number.POSITIVE_INFINITY]) {
      const refusal = await server.advance(wrong).catch((error: unknown) => error)
      assert.include(String(refusal), `advance takes 0 or more milliseconds, not ${wrong}`)
    }
    const { body } = await call(server, "/v1/tasks", {})
    assert.closeTo(Date.parse(String(body["created_at"])), Date.now(), minute)
  })

  it("keeps mails with their link, which works until its time is over", async () => {
    await call(server, "/auth/magic-link", { email: "Ann@example.com" })
    const [mail, ...rest] = await server.mails()
    assert.isEmpty(rest)
    assert.strictEqual(mail?.to, "ann@example.com")
    assert.isUndefined(mail?.code)
    const token = new URL(mail?.link ?? "").searchParams.get("token")
    assert.isTrue(mail?.link?.startsWith(server.url))
    const { body } = await call(server, "/auth/verify", { token })
    assert.strictEqual((await call(server, "/v1/_tables", undefined, String(body["api_key"]))).status, 200)

    await call(server, "/auth/magic-link", { email: "ann@example.com" })
    await server.advance(10 * minute)
    const late = new URL((await server.mails())[1]?.link ?? "").searchParams.get("token")
    assert.strictEqual((await call(server, "/auth/verify", { token: late })).status, 401)
  })

  it("answers a sign-in with its link to whoever sends its local secret", async () => {
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(`${server.url}/auth/magic-link`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ email: "ann@example.com" })
      })
      return (await response.json()) as Record<string, unknown>
    }
    const shown = await ask({ "x-local-secret": server.localSecret ?? "" })
    assert.isTrue(String(shown["dev_magic_link"]).startsWith(`${server.url}/sign-in?token=`))
    assert.doesNotHaveAnyKeys(await ask({}), ["dev_magic_link"])
  })

  it("keeps the code that is mailed to whoever signs in in a browser", async () => {
    const response = await fetch(`${server.url}/sign-in/email`, {
      method: "POST",
      redirect: "manual",
      headers: { origin: server.url },
      body: new URLSearchParams({ return_to: "/apps", email: "ann@example.com" })
    })
    assert.strictEqual(response.status, 303)
    assert.match((await server.mails())[0]?.code ?? "", /^\d{6}$/)
  })

  it("signs in without a mail: the same address into the same account", async () => {
    const ann = await server.signIn("ann@example.com")
    const again = await server.signIn(" Ann@Example.com")
    const bob = await server.signIn("bob@example.com")
    assert.strictEqual(again.accountId, ann.accountId)
    assert.notStrictEqual(bob.accountId, ann.accountId)
    await call(server, "/v1/tasks", {}, ann.apiKey)
    assert.deepStrictEqual((await call(server, "/v1/tasks/count", undefined, again.apiKey)).body, { count: 1 })
    assert.deepStrictEqual((await call(server, "/v1/tasks/count", undefined, bob.apiKey)).body, { count: 0 })
    assert.isEmpty(await server.mails())
    const refusal = await server.signIn("nobody").catch((error: unknown) => error)
    assert.include(String(refusal), '"nobody" cannot sign in')
  })

  it("is as new after a reset, with the same key", async () => {
    const { body } = await call(server, "/v1/tasks", { n: 1 })
    await call(server, "/v1/tasks/update_row", { id: body["id"], patch: { n: 2 } })
    const ann = await server.signIn("ann@example.com")
    await call(server, "/auth/magic-link", { email: "ann@example.com" })
    const { body: keys } = await call(server, "/v1/_keys")
    const [key] = keys["keys"] as ReadonlyArray<{ readonly id: string }>
    await fetch(`${server.url}/v1/_keys/${key?.id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${server.apiKey}` }
    })
    await server.advance(day)

    await server.reset()

    assert.deepStrictEqual((await call(server, "/v1/_tables")).body, { tables: [] })
    assert.deepStrictEqual((await call(server, `/v1/tasks/versions?id=${String(body["id"])}`)).body, { versions: [] })
    assert.strictEqual((await call(server, "/v1/_tables", undefined, ann.apiKey)).status, 401)
    assert.isEmpty(await server.mails())
    const { body: added } = await call(server, "/v1/tasks", { n: 3 })
    assert.closeTo(Date.parse(String(added["created_at"])), Date.now(), minute)
    assert.deepStrictEqual((await call(server, "/v1/tasks")).body, { rows: [added], has_more: false })
    assert.deepStrictEqual((await call(server, "/v1/_tables")).body, { tables: [{ name: "tasks", rows: 1 }] })
  })

  it("refuses settings that lead to data of others, and wrong ones, in words", async () => {
    const refusal = async (variables: Record<string, string>) =>
      String(await startTestServer({ variables }).catch((error: unknown) => error))
    assert.include(await refusal({ DATABASE_URL: "postgres://localhost/mine" }), "DATABASE_URL cannot be set")
    assert.include(await refusal({ LIMIT_TABLES: "many" }), 'LIMIT_TABLES is "many"')
  })
})

/** Starts a program in Node that prints the folder of its server's database as its one line. */
const startProgram = async (script: string) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: new URL(".", import.meta.url),
    stdio: ["pipe", "pipe", "inherit"]
  })
  const closed = once(child, "close")
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string]
  return { child, closed, folder: line.trim() }
}

const program = (rest: string) => `
  import { readdirSync } from "node:fs"
  import { tmpdir } from "node:os"
  import { startTestServer } from "${new URL("../../src/testing/startTestServer.ts", import.meta.url).href}"
  const before = new Set(readdirSync(tmpdir()))
  await using server = await startTestServer()
  const made = readdirSync(tmpdir()).filter((name) => !before.has(name) && name.startsWith("agent-memory-test-"))
  console.log(tmpdir() + "/" + made.find((name) => readdirSync(tmpdir() + "/" + name).includes("postgres")))
  ${rest}
`

const postmasterOf = (folder: string) =>
  Number(readFileSync(join(folder, "postgres/postmaster.pid"), "utf8").split("\n")[0])

describe("the end of a test's process", () => {
  it(
    "leaves no file and no process when the server is stopped, and does not have to be forced",
    async () => {
      const { child, closed, folder } = await startProgram(
        program("process.stdin.resume(); await new Promise((done) => process.stdin.once('end', done))")
      )
      const postmaster = postmasterOf(folder)
      child.stdin.end()
      await closed
      assert.strictEqual(child.exitCode, 0)
      assert.isFalse(existsSync(folder))
      assert.isFalse(runs(postmaster))
    },
    seconds
  )

  it(
    "leaves no file and no process when it is killed",
    async () => {
      const { child, closed, folder } = await startProgram(program("setInterval(() => undefined, 1000)"))
      const postmaster = postmasterOf(folder)
      child.kill("SIGKILL")
      await closed
      assert.isTrue(await Effect.runPromise(waitUntil(() => !existsSync(folder) && !runs(postmaster), 15_000)))
    },
    seconds
  )
})
