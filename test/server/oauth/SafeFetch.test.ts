import { setGlobalProxyFromEnv, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import type { TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import type { FetchFailed } from "../../../src/server/oauth/ClientDocuments.ts"
import { makeSafeFetch, type SafeFetchOptions } from "../../../src/server/oauth/SafeFetch.ts"
import { makeCertificate } from "../../support/Certificate.ts"

const host = "client.example"
const certificate = makeCertificate(host)
const notPublic = "its host is not on the public internet"
const unreached = "its host could not be reached"

const loopback = { address: "127.0.0.1", family: 4 }

/** A TLS server of this machine, and a fetcher that takes it for a public host. */
const serve = Effect.fnUntraced(function* (
  respond: (request: IncomingMessage, response: ServerResponse) => void,
  options: SafeFetchOptions = {}
) {
  const requests: Array<IncomingMessage> = []
  const server = createServer(certificate, (request, response) => {
    requests.push(request)
    respond(request, response)
  })
  server.on("tlsClientError", () => undefined)
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const { port } = server.address() as AddressInfo
  const fetcher = makeSafeFetch({
    resolve: async () => [loopback],
    isPublic: (address) => address === loopback.address,
    port,
    ca: certificate.cert,
    ...options
  })
  const fetch = (path = "/client.json", at = host) => fetcher.fetch(new URL(`https://${at}:${port}${path}`), 100)
  return { fetch, requests }
})

const reasonOf = <A>(effect: Effect.Effect<A, FetchFailed>) => Effect.map(Effect.flip(effect), ({ reason }) => reason)

/** Fetches what must not be connected to: with the true rule for addresses and the given answer of name servers. */
const refusedAt = (address: string, answers: ReadonlyArray<string> = []) => {
  const asked: Array<string> = []
  const fetcher = makeSafeFetch({
    resolve: async (host) => {
      asked.push(host)
      return answers.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    }
  })
  return Effect.map(reasonOf(fetcher.fetch(new URL(address), 100)), (reason) => ({ reason, asked }))
}

describe("Safe fetching", () => {
  for (const address of [
    "https://127.0.0.1/a",
    "https://2130706433/a",
    "https://0x7f000001/a",
    "https://017700000001/a",
    "https://127.1/a",
    "https://0/a",
    "https://10.0.0.1/a",
    "https://169.254.169.254/latest/meta-data",
    "https://192.168.1.2/a",
    "https://[::1]/a",
    "https://[::]/a",
    "https://[::ffff:127.0.0.1]/a",
    "https://[64:ff9b::7f00:1]/a",
    "https://[fe80::1]/a",
    "https://[fd00::1]/a"
  ]) {
    it.effect(`30 connects to no address like ${address}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* refusedAt(address), { reason: notPublic, asked: [] })
      })
    )
  }

  it.effect("30 connects to no host with an address that is not public, even beside one that is", () =>
    Effect.gen(function* () {
      for (const answers of [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:10.0.0.1"],
        ["fd00::1"],
        ["8.8.8.8", "10.0.0.1"],
        ["::1", "8.8.8.8"]
      ]) {
        const expected = { reason: notPublic, asked: [host] }
        assert.deepStrictEqual(yield* refusedAt(`https://${host}/a`, answers), expected, String(answers))
      }
    })
  )

  it.effect("30 connects to nothing that this machine's own names lead to", () =>
    Effect.gen(function* () {
      const fetcher = makeSafeFetch()
      const reason = yield* reasonOf(fetcher.fetch(new URL("https://localhost/a"), 100))
      assert.include([notPublic, unreached], reason)
    })
  )

  it.live("30 keeps nobody waiting for a host whose name server is slow, and gives up asking it", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal> = []
      const fetcher = makeSafeFetch({
        patience: 500,
        resolve: (host, signal) => {
          if (host === "quick.example") return Promise.resolve([{ address: "10.0.0.1", family: 4 }])
          signals.push(signal)
          return new Promise(() => undefined)
        }
      })
      const ask = (name: string) => reasonOf(fetcher.fetch(new URL(`https://${name}/a`), 100))
      const slow = yield* Effect.forkChild(Effect.all([ask("a.example"), ask("b.example")], { concurrency: 2 }))
      assert.strictEqual(yield* ask("quick.example"), notPublic)
      assert.deepStrictEqual(yield* Fiber.join(slow), Array(2).fill("it did not arrive within 0.5 seconds"))
      assert.deepStrictEqual(
        signals.map(({ aborted }) => aborted),
        [true, true]
      )
    })
  )

  it.effect("30 says no more of an unknown host than that", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* refusedAt(`https://${host}/a`)).reason, unreached)
      const fetcher = makeSafeFetch({ resolve: () => Promise.reject(new Error("ENOTFOUND of the inside")) })
      assert.strictEqual(yield* reasonOf(fetcher.fetch(new URL(`https://${host}/a`), 100)), unreached)
    })
  )

  it.effect("30 asks no other port, no other protocol, and with no name and password", () =>
    Effect.gen(function* () {
      for (const [address, reason] of [
        [`https://${host}:8443/a`, "its URL has a port other than 443"],
        [`https://${host}:22/a`, "its URL has a port other than 443"],
        [`http://${host}/a`, "its URL is not https"],
        [`file:///etc/passwd`, "its URL is not https"],
        [`https://ada:pw@${host}/a`, "its URL has a user name"]
      ] as const) {
        assert.deepStrictEqual(yield* refusedAt(address, ["8.8.8.8"]), { reason, asked: [] })
      }
    })
  )

  it.effect("30 gives what a host answers, and sends nothing of ours", () =>
    Effect.gen(function* () {
      const { fetch, requests } = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json", "cache-control": "max-age=60" })
        response.end('{"a":1}')
      })
      const { body, ...head } = yield* fetch("/client.json?a=%20b")
      assert.strictEqual(Buffer.from(body).toString(), '{"a":1}')
      assert.deepStrictEqual(head, { status: 200, contentType: "application/json", cacheControl: "max-age=60" })
      const [request] = requests
      assert.strictEqual(`${request!.method} ${request!.url}`, "GET /client.json?a=%20b")
      assert.match(request!.headers.host!, new RegExp(`^${host}:\\d+$`))
      assert.strictEqual((request!.socket as TLSSocket & { servername?: string }).servername, host)
      assert.deepStrictEqual(Object.keys(request!.headers).toSorted(), [
        "accept",
        "accept-encoding",
        "connection",
        "host",
        "user-agent"
      ])
      assert.strictEqual(request!.headers["user-agent"], `agent-memory/${packageJson.version}`)
    })
  )

  it.effect("30 connects to the address that was checked, whatever the name leads to a moment later", () =>
    Effect.gen(function* () {
      let asked = 0
      const { fetch, requests } = yield* serve((_, response) => void response.end("{}"), {
        resolve: async () => [asked++ === 0 ? loopback : { address: "127.0.0.2", family: 4 }]
      })
      yield* fetch()
      assert.deepStrictEqual([asked, requests.length], [1, 1])
      assert.strictEqual(yield* reasonOf(fetch()), notPublic)
      assert.strictEqual(requests.length, 1)
    })
  )

  it.effect("30 follows no redirect", () =>
    Effect.gen(function* () {
      const { fetch, requests } = yield* serve((_, response) => {
        response.writeHead(302, { location: "https://169.254.169.254/latest/meta-data" }).end()
      })
      assert.strictEqual((yield* fetch()).status, 302)
      assert.strictEqual(requests.length, 1)
    })
  )

  it.effect("30 takes no certificate of somebody else, nor one that nobody vouches for", () =>
    Effect.gen(function* () {
      const trusted = yield* serve((_, response) => void response.end("{}"))
      assert.strictEqual(yield* reasonOf(trusted.fetch("/", "other.example")), unreached)
      const untrusted = yield* serve((_, response) => void response.end("{}"), { ca: makeCertificate(host).cert })
      assert.strictEqual(yield* reasonOf(untrusted.fetch()), unreached)
      assert.deepStrictEqual([trusted.requests.length, untrusted.requests.length], [0, 0])
    })
  )

  it.effect("30 goes through no proxy", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          setGlobalProxyFromEnv({ https_proxy: "http://127.0.0.1:1", http_proxy: "http://127.0.0.1:1" })
        ),
        (restore) => Effect.sync(restore)
      )
      const { fetch } = yield* serve((_, response) => void response.end("{}"))
      assert.strictEqual((yield* fetch()).status, 200)
    })
  )

  it.effect("30 reads no more than it may, whether or not the length is announced", () =>
    Effect.gen(function* () {
      const hungUp = yield* Deferred.make<void>()
      const { fetch } = yield* serve(({ url }, response) => {
        if (url === "/exact") return void response.end("a".repeat(100))
        if (url === "/announced") {
          response.writeHead(200, { "content-length": "101" })
          return void response.flushHeaders()
        }
        response.on("close", () => Deferred.doneUnsafe(hungUp, Effect.void))
        const more = () => {
          if (!response.destroyed) response.write("a".repeat(1000), () => setImmediate(more))
        }
        more()
      })
      assert.strictEqual((yield* fetch("/exact")).body.length, 100)
      assert.strictEqual(yield* reasonOf(fetch("/announced")), "it is larger than 100 bytes")
      assert.strictEqual(yield* reasonOf(fetch("/endless")), "it is larger than 100 bytes")
      yield* Deferred.await(hungUp)
    })
  )

  for (const [what, respond] of [
    ["says nothing", () => undefined],
    ["never ends", (_: IncomingMessage, response: ServerResponse) => void response.write("{")]
  ] as const) {
    it.live(`30 waits only so long for a host that ${what}, and hangs up`, () =>
      Effect.gen(function* () {
        const hungUp = yield* Deferred.make<void>()
        const { fetch } = yield* serve(
          (request, response) => {
            response.on("close", () => Deferred.doneUnsafe(hungUp, Effect.void))
            respond(request, response)
          },
          { patience: 300 }
        )
        assert.strictEqual(yield* reasonOf(fetch()), "it did not arrive within 0.3 seconds")
        yield* Deferred.await(hungUp)
      })
    )
  }

  it.live("30 waits only so long for a name server", () =>
    Effect.gen(function* () {
      const fetcher = makeSafeFetch({ resolve: () => new Promise(() => undefined), patience: 20 })
      assert.include(yield* reasonOf(fetcher.fetch(new URL(`https://${host}/a`), 100)), "did not arrive within")
    })
  )

  it.effect("30 says that a connection broke, and no more", () =>
    Effect.gen(function* () {
      const { fetch } = yield* serve(({ socket, url }, response) => {
        if (url === "/before") return void socket.destroy()
        response.writeHead(200, { "content-length": "50" })
        response.write("{", () => socket.destroy())
      })
      assert.strictEqual(yield* reasonOf(fetch("/before")), unreached)
      assert.strictEqual(yield* reasonOf(fetch("/halfway")), "the connection broke")
    })
  )
})
