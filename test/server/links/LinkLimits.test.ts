import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Terminal } from "../../support/Captured.ts"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { call } from "../../support/ServiceProcess.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { newKey, overBoth, revoke, signIn, startTwo } from "../instances/TwoInstances.ts"
import { assertProblem, jsonOf, wire } from "../wire/Wire.ts"
import { save, withRow } from "./LinkCalls.ts"

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "3", LIMIT_READS_PER_MINUTE: "4" }))("A link's limits", (it) => {
  it.effect("count its saves by themselves, and nothing that only reads", () =>
    Effect.gen(function* () {
      const { links, textLinks, updated_at } = yield* withRow('{"n":1,"t":"a"}')
      const edit = `{"updated_at":"${updated_at}","patch":{}}`
      for (let left = 3; left > 0; left--) assert.strictEqual((yield* save(links.view, edit)).status, 200)
      const refused = yield* save(links.view, edit)
      assertProblem(refused, 429, "rate_limited")
      assert.match(refused.headers["retry-after"] ?? "", /^[1-9]\d*$/)
      assertProblem(yield* wire("POST", `${links.view}/restore`, { body: '{"version":1}' }), 429, "rate_limited")
      for (let times = 0; times < 10; times++) assert.strictEqual((yield* wire("GET", links.view)).status, 200)
      const other = yield* textLinks("t")
      const saved = yield* save(other.view, `{"updated_at":"${updated_at}","patch":{"t":"a"}}`)
      assert.strictEqual(saved.status, 200)
    })
  )

  it.effect("count making one as a read of the key", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const make = wire("POST", "/v1/_query_links", { key, body: '{"table":"notes"}' })
      const made = yield* make
      assert.strictEqual(made.headers["ratelimit-policy"], '"reads";q=4;w=60')
      for (let left = 3; left > 0; left--) assert.strictEqual((yield* make).status, 200)
      assertProblem(yield* make, 429, "rate_limited")
    })
  )
})

layer(serviceLayer({ LOG_LEVEL: "trace", LOG_FORMAT: "json" }).pipe(Layer.provideMerge(Terminal.layer)))(
  "A link's tokens",
  (it) => {
    it.effect("P21 stand in no log line", () =>
      Effect.gen(function* () {
        const { links, updated_at } = yield* withRow('{"n":1}')
        for (const path of ["", "/data", "/versions", "/download", "/nothing"]) yield* wire("GET", links.view + path)
        yield* wire("GET", links.download)
        yield* save(links.view, `{"updated_at":"${updated_at}","patch":{"n":2}}`)
        yield* save(links.view, "{")
        const { lines } = yield* Terminal
        const text = lines.join("\n")
        assert.include(text, "links.save 200")
        for (const path of [links.view, links.download]) assert.notInclude(text, path.slice(-43))
      })
    )
  }
)

layer(DatabaseLayer, { excludeTestServices: true, timeout: "60 seconds" })("A link over two instances", (it) => {
  it.effect("is saved once of many times, counted once, and ends everywhere with its key", () =>
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      const two = yield* startTwo({ DATABASE_URL: url })
      const main = yield* signIn(two[0].url, "links@example.com")
      const { api_key: key, id: keyId } = yield* newKey(two[0].url, main)
      const added = jsonOf<{ id: string; updated_at: string }>(
        yield* call(`${two[0].url}/v1/notes`, { key, body: '{"n":0}' })
      )
      const made = yield* call(`${two[1].url}/v1/_row_links`, { key, body: `{"table":"notes","id":"${added.id}"}` })
      const path = new URL(jsonOf<{ viewer_url: string }>(made).viewer_url).pathname
      const patch = (url: string, n: number) =>
        Effect.promise(async (signal) => {
          const body = `{"updated_at":"${added.updated_at}","patch":{"n":${n + 1}}}`
          const response = await fetch(url + path, { method: "PATCH", body, signal, headers })
          return response.status
        })
      const headers = { "content-type": "application/json" }
      const [took, statuses] = yield* Effect.timed(overBoth(two, 40, patch))
      assert.strictEqual(statuses.filter((status) => status === 200).length, 1)
      // A slow machine regains tokens meanwhile, one every two seconds.
      const regained = Math.floor(Duration.toMillis(took) / 2000)
      const conflicts = statuses.filter((status) => status === 409).length
      const limited = statuses.filter((status) => status === 429).length
      assert.strictEqual(1 + conflicts + limited, 40)
      assert.isAtLeast(conflicts, 29)
      assert.isAtMost(conflicts, 29 + regained)
      assert.strictEqual(yield* revoke(two[0].url, main, keyId), 200)
      for (const { url } of two) assert.strictEqual((yield* call(url + path, {})).status, 404)
    })
  )
})
