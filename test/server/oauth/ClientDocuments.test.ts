import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { SignInThrottle, type HourlyLimit } from "../../../src/server/accounts/SignInThrottle.ts"
import { ClientDocuments } from "../../../src/server/oauth/ClientDocuments.ts"
import { Clients } from "../../../src/server/oauth/Clients.ts"
import { DocumentFetcher } from "../../../src/server/oauth/ClientDocuments.ts"
import { claudeCode, Documents, DocumentsLayer, type FixtureAnswer } from "../../support/Documents.ts"
import { settingsLayer } from "../../support/SignInServices.ts"
import { servicesLayer } from "../../support/TestService.ts"

const ip = "192.0.2.1"
const url = "https://c.test/client.json"
const described = { client_id: url, client_name: "C", redirect_uris: ["https://c.test/cb"] }

const find = (clientId: string) => Effect.flatMap(Clients, (clients) => clients.find(clientId, ip))

/** Asserts that no such client is known, and gives why. */
const unknown = Effect.fnUntraced(function* (clientId: string) {
  const found = yield* Effect.result(find(clientId))
  if (Result.isSuccess(found) || found.failure._tag !== "ClientUnknown") return assert.fail(clientId)
  assert.match(found.failure.detail, /^[A-Z].*\.$/s)
  return found.failure.detail
})

/** Asserts that an answer describes no client, and gives why. */
const unusable = Effect.fnUntraced(function* (path: string, answer: FixtureAnswer | string) {
  const { answers } = yield* Documents
  answers.set(`https://c.test/${path}`, answer)
  const detail = yield* unknown(`https://c.test/${path}`)
  assert.include(detail, "The client's document at c.test could not be used: ")
  return detail
})

layer(servicesLayer(), { excludeTestServices: true })("Client documents", (it) => {
  it.effect("30 describe Claude Code, whose redirects name no port", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* find(claudeCode.client_id), {
        id: claudeCode.client_id,
        name: "Claude Code",
        redirectUris: claudeCode.redirect_uris,
        isDocument: true
      })
    })
  )

  it.effect("30 are refused unless they say their own address, a name and redirects that may be registered", () =>
    Effect.gen(function* () {
      const faults: ReadonlyArray<readonly [document: object, reason: string]> = [
        [{ client_id: "https://c.test/other" }, "client_id"],
        [{ client_id: "https://c.test/0?" }, "client_id"],
        [{ client_id: undefined }, "client_id"],
        [{ client_name: undefined }, "no client_name"],
        [{ client_name: " " }, "no client_name"],
        [{ client_name: 1 }, "no client_name"],
        [{ redirect_uris: undefined }, "redirect_uris"],
        [{ redirect_uris: [] }, "redirect_uris"],
        [{ redirect_uris: ["https://c.test/cb", "javascript:alert(1)"] }, "javascript:alert(1) uses the scheme"],
        [{ redirect_uris: ["http://192.168.1.2/cb"] }, "use https"],
        [{ token_endpoint_auth_method: "client_secret_post" }, "token_endpoint_auth_method"],
        [{ token_endpoint_auth_method: "client_secret_basic" }, "token_endpoint_auth_method"],
        [{ client_secret: "secret" }, "no secret"]
      ]
      for (const [index, [change, reason]] of faults.entries()) {
        const document = { ...described, client_id: `https://c.test/${index}`, ...change }
        assert.include(yield* unusable(String(index), { document }), reason)
      }
    })
  )

  it.effect("30 may name private_key_jwt, or no method, beside members that say nothing here", () =>
    Effect.gen(function* () {
      const { answers } = yield* Documents
      for (const token_endpoint_auth_method of ["none", "private_key_jwt", null, undefined]) {
        const client_id = `https://c.test/method-${token_endpoint_auth_method}?v=1`
        const document = { ...described, client_id, token_endpoint_auth_method, jwks_uri: "https://c.test/jwks" }
        answers.set(client_id, { document, contentType: "application/cimd+json; charset=utf-8" })
        assert.strictEqual((yield* find(client_id)).name, "C")
      }
    })
  )

  it.effect("30 are refused unless they come as JSON of at most 5 KB, at once and from their address", () =>
    Effect.gen(function* () {
      const sized = (path: string, bytes: number) => {
        const document = { ...described, client_id: `https://c.test/${path}`, client_uri: "" }
        return { ...document, client_uri: "a".repeat(bytes - JSON.stringify(document).length) }
      }
      const { answers } = yield* Documents
      answers.set("https://c.test/full", { document: sized("full", 5120) })
      yield* find("https://c.test/full")
      assert.include(yield* unusable("long", { document: sized("long", 5121) }), "larger than 5120 bytes")
      const document = { ...described, client_id: "https://c.test/a" }
      for (const status of [301, 302, 303, 307, 308]) {
        assert.include(yield* unusable(`moved-${status}`, { document, status }), "redirects")
      }
      for (const status of [201, 204, 400, 404, 500]) {
        assert.include(yield* unusable(`status-${status}`, { document, status }), `status ${status}`)
      }
      for (const contentType of ["text/html", "text/plain", "", "application/jsonp", "application/xjson"]) {
        assert.include(yield* unusable(`type-${contentType}`, { document, contentType }), "application/json")
      }
      for (const [index, text] of ["", "<html>", "[]", "null", '{"client_id":1,"client_id":2}', "{}x"].entries()) {
        assert.include(yield* unusable(`text-${index}`, { document: text }), "not a JSON object")
      }
      for (const reason of ["it did not arrive within 5 seconds", "its host is not on the public internet"]) {
        assert.include(yield* unusable(`failed-${reason.length}`, reason), reason)
      }
    })
  )

  it.effect("30 are not fetched from anything but a complete https URL with a path", () =>
    Effect.gen(function* () {
      const { fetched } = yield* Documents
      const before = fetched.length
      for (const [id, reason] of [
        ["http://c.test/client.json", "https://"],
        ["HTTPS://c.test/client.json", "https://"],
        ["https://c.test", "normal form"],
        ["https://c.test/", "a path"],
        ["https://c.test/?a=b", "a path"],
        ["https://c.test/client.json#", "not have a fragment"],
        ["https://c.test/client.json#a", "not have a fragment"],
        ["https://ada@c.test/client.json", "not have a user name"],
        ["https://ada:pw@c.test/client.json", "not have a user name"],
        ["https://@c.test/client.json", "normal form"],
        ["https://c.test/../client.json", "normal form"],
        ["https://c.test/a/./client.json", "normal form"],
        ["https://c.test/a/..", "normal form"],
        ["https://c.test/a/%2e%2e/b", "normal form"],
        ["https://C.test/client.json", "normal form"],
        ["https://c.test:443/client.json", "normal form"],
        ["https://c.test\\client.json", "normal form"],
        ["https://c.test/client .json", "normal form"],
        ["https://2130706433/client.json", "normal form"],
        ["https://127.1/client.json", "normal form"],
        ["https://0x7f.1/client.json", "normal form"],
        ["https://", "normal form"],
        [`https://c.test/${"a".repeat(2000)}`, "2000 characters"]
      ] as const) {
        assert.include(yield* unknown(id), reason, id)
      }
      assert.strictEqual(fetched.length, before)
    })
  )

  it.effect("34 are not fetched to admit their clients, which have no secret", () =>
    Effect.gen(function* () {
      const { fetched } = yield* Documents
      const clients = yield* Clients
      const before = fetched.length
      const admitted = (clientId: string, secret?: string) =>
        Effect.map(Effect.result(clients.authenticate({ clientId, secret })), Result.isSuccess)
      assert.isTrue(yield* admitted("https://c.test/never-fetched"))
      assert.isTrue(yield* admitted("https://c.test/never-fetched", ""))
      assert.isFalse(yield* admitted("https://c.test/never-fetched", "secret"))
      assert.isFalse(yield* admitted("https://c.test/"))
      assert.isFalse(yield* admitted("http://c.test/never-fetched"))
      assert.strictEqual(fetched.length, before)
    })
  )
})

layer(servicesLayer({ CIMD: "off" }), { excludeTestServices: true })("Client documents that are off", (it) => {
  it.effect("30 are neither fetched nor admitted", () =>
    Effect.gen(function* () {
      const { fetched } = yield* Documents
      const clients = yield* Clients
      assert.include(yield* unknown(claudeCode.client_id), "does not accept URLs as client ids")
      const given = { clientId: claudeCode.client_id, secret: undefined }
      assert.isTrue(Result.isFailure(yield* Effect.result(clients.authenticate(given))))
      assert.deepStrictEqual(fetched, [])
    })
  )
})

layer(servicesLayer({ LIMIT_REGISTRATIONS_PER_IP_PER_HOUR: "2" }), { excludeTestServices: true })(
  "Fetches of client documents",
  (it) => {
    it.effect("30 count as registrations of the address that asks; what is cached counts for nothing", () =>
      Effect.gen(function* () {
        const clients = yield* Clients
        const { fetched } = yield* Documents
        for (let count = 0; count < 5; count++) yield* find(claudeCode.client_id)
        yield* clients.register({ redirect_uris: ["https://c.test/cb"] }, ip)
        const refused = yield* Effect.flip(find("https://c.test/one-too-many"))
        assert.strictEqual(refused._tag, "RateLimited")
        assert.deepStrictEqual(fetched, [claudeCode.client_id])
        yield* find(claudeCode.client_id)
        assert.include((yield* Effect.flip(clients.find("https://c.test/x", "192.0.2.2")))._tag, "ClientUnknown")
      })
    )
  }
)

/** The documents alone, on a clock that the test moves. */
const onTestClock = (fetcher: Layer.Layer<DocumentFetcher | Documents> = DocumentsLayer) => {
  const spent: Array<HourlyLimit> = []
  const throttle = Layer.mock(SignInThrottle, {
    spend: (limits) => Effect.sync(() => void spent.push(...limits))
  })
  const documents = Layer.fresh(Layer.effect(ClientDocuments, ClientDocuments.make)).pipe(
    Layer.provide([throttle, settingsLayer()]),
    Layer.provideMerge(Layer.fresh(fetcher))
  )
  return { documents, spent }
}

layer(Layer.empty)("Client documents that were fetched", (it) => {
  for (const [cacheControl, seconds] of [
    ["", 3600],
    ["public", 3600],
    ["max-age=x", 3600],
    ["max-age=600", 600],
    ['Public, Max-Age="600"', 600],
    ["max-age=0", 60],
    ["max-age=600, no-store", 60],
    ["no-cache", 60],
    ["max-age=99999999999999999999", 86_400]
  ] as const) {
    it.effect(`30 are used for ${seconds} seconds with Cache-Control: ${cacheControl}`, () =>
      Effect.gen(function* () {
        const { answers, fetched } = yield* Documents
        const documents = yield* ClientDocuments
        answers.set(url, { document: described, cacheControl })
        yield* documents.find(url, ip)
        answers.set(url, { document: { ...described, client_name: "D" }, cacheControl })
        yield* TestClock.adjust(seconds * 1000 - 1)
        assert.strictEqual((yield* documents.find(url, ip)).name, "C")
        assert.lengthOf(fetched, 1)
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* documents.find(url, ip)).name, "D")
      }).pipe(Effect.provide(onTestClock().documents))
    )
  }

  it.effect("30 are asked for again 30 seconds after a failure", () =>
    Effect.gen(function* () {
      const { answers } = yield* Documents
      const documents = yield* ClientDocuments
      yield* Effect.flip(documents.find(url, ip))
      answers.set(url, { document: described })
      yield* TestClock.adjust("29 seconds")
      yield* Effect.flip(documents.find(url, ip))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* documents.find(url, ip)).name, "C")
    }).pipe(Effect.provide(onTestClock().documents))
  )

  it.effect("30 are fetched once for all that wait for them, also when the first of these leaves", () =>
    Effect.gen(function* () {
      const arrived = yield* Deferred.make<void>()
      let fetches = 0
      const slow = Layer.effect(
        DocumentFetcher,
        Effect.gen(function* () {
          const { fetch } = yield* DocumentFetcher
          return DocumentFetcher.of({
            fetch: (url, maxBytes) => {
              fetches++
              return Effect.andThen(Deferred.await(arrived), fetch(url, maxBytes))
            }
          })
        })
      ).pipe(Layer.provideMerge(DocumentsLayer))
      const { documents, spent } = onTestClock(slow)
      yield* Effect.gen(function* () {
        const documents = yield* ClientDocuments
        const search = Effect.forkChild(documents.find(claudeCode.client_id, ip), { startImmediately: true })
        const waiting = yield* Effect.all([search, search, search])
        yield* Fiber.interrupt(waiting[0])
        yield* Deferred.succeed(arrived, undefined)
        assert.strictEqual((yield* Fiber.join(waiting[1])).name, "Claude Code")
        assert.strictEqual((yield* Fiber.join(waiting[2])).name, "Claude Code")
        assert.strictEqual(fetches, 1)
        assert.deepStrictEqual(spent, [{ bucket: `register:ip:${ip}`, perHour: 120 }])
      }).pipe(Effect.provide(documents))
    })
  )
})
