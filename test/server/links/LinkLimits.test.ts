import { actorNow } from "../../support/Instances.ts"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Terminal } from "../../support/Captured.ts"
import { AccountId } from "../../../src/domain/Account.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Links } from "../../../src/server/links/Links.ts"
import { DatabaseLayer, DatabaseUrl, setClock } from "../../support/Database.ts"
import { call } from "../../support/ServiceProcess.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { newKey, overBoth, revoke, signIn, startTwo } from "../instances/TwoInstances.ts"
import { assertProblem, jsonOf, wire } from "../wire/Wire.ts"
import { makeLinks, restore, save, shownTime, withRow } from "./LinkCalls.ts"

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "3", LIMIT_READS_PER_MINUTE: "4" }))("A link's limits", (it) => {
  it.effect("count its saves by themselves", () =>
    Effect.gen(function* () {
      const { links, textLinks, updated_at } = yield* withRow('{"n":1,"t":"a"}')
      const edit = `{"updated_at":"${updated_at}","patch":{}}`
      for (let left = 3; left > 0; left--) assert.strictEqual((yield* save(links.view, edit)).status, 200)
      const refused = yield* save(links.view, edit)
      assertProblem(refused, 429, "rate_limited")
      assert.match(refused.headers["retry-after"] ?? "", /^[1-9]\d*$/)
      assert.strictEqual((yield* restore(links.view)).status, 429)
      assert.strictEqual((yield* wire("GET", links.view)).status, 200)
      const other = yield* textLinks("t")
      const saved = yield* save(other.view, `{"updated_at":"${updated_at}","patch":{"t":"a"}}`)
      assert.strictEqual(saved.status, 200)
    })
  )

  it.effect("count what is read through it, at each of its addresses, as reads of the link", () =>
    Effect.gen(function* () {
      const { links, textLinks } = yield* withRow('{"n":1,"t":"a"}')
      for (const path of ["", "?view=json", "?view=history", "/download"]) {
        assert.strictEqual((yield* wire("GET", links.view + path)).status, 200)
      }
      for (const path of [`${links.view}/download`, links.download]) {
        const refused = yield* wire("GET", path)
        assertProblem(refused, 429, "rate_limited")
        assert.include(refused.text, "This link is limited to 4 reads per minute.")
        assert.match(refused.headers["retry-after"] ?? "", /^[1-9]\d*$/)
      }
      const page = yield* wire("GET", links.view)
      assert.strictEqual(page.status, 429)
      assert.match(page.headers["retry-after"] ?? "", /^[1-9]\d*$/)
      assert.include(page.text, "Too many requests")
      assert.strictEqual((yield* wire("GET", (yield* textLinks("t")).download)).status, 200)
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

layer(serviceLayer({ LIMIT_READS_PER_MINUTE: "4", LIMIT_ACCOUNT_READS_PER_MINUTE: "6" }))(
  "Links of an account",
  (it) => {
    it.effect("P44 spend what the account may read, however many there are", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const made = [yield* makeLinks(key, "query", { table: "a" }), yield* makeLinks(key, "query", { table: "b" })]
        const statuses: Array<number> = []
        for (let times = 0; times < 3; times++) {
          for (const { download } of made) statuses.push((yield* wire("GET", download)).status)
        }
        assert.deepStrictEqual(statuses, [200, 200, 200, 200, 429, 429])
      })
    )
  }
)

layer(serviceLayer({ LIMIT_LIVE_LINKS: "3", LIMIT_STORAGE_BYTES: "100" }), { excludeTestServices: true })(
  "A link",
  (it) => {
    it.effect("is one of so many that an account has, and another is made when the first has expired", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const make = wire("POST", "/v1/_query_links", { key, body: '{"table":"notes"}' })
        const made = yield* Effect.all([make, make, make, make, make, make], { concurrency: "unbounded" })
        assert.lengthOf(
          made.filter(({ status }) => status === 200),
          3
        )
        const refused = yield* make
        assertProblem(refused, 429, "rate_limited")
        assert.include(refused.text, "3 links that have not expired")
        assert.isAbove(Number(refused.headers["retry-after"]), 3500)
        yield* setClock("61 minutes")
        assert.strictEqual((yield* make).status, 200)
        yield* setClock("0 minutes")
      })
    )

    it.effect("keeps at most 16 KB of filter, sort and field name together, by whichever door it is made", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const links = yield* Links
        const owner = AccountId.make(accountId)
        const maker = { ...(yield* actorNow(owner)), id: "key" }
        const query = { table: "notes", filter: undefined, sort: undefined, limit: 1 }
        const filterOf = (bytes: number) => JsonText.trusted(`{"n":"${"é".repeat((bytes - 8) / 2)}"}`)
        yield* links.toQuery(maker, { ...query, filter: filterOf(8000), sort: "s".repeat(8300) })
        const refusals = {
          "/filter": [
            links.toQuery(maker, { ...query, filter: filterOf(16_384) }),
            links.toQuery(maker, { ...query, filter: filterOf(8200), sort: "s".repeat(8192) })
          ],
          "/sort": [
            links.toQuery(maker, { ...query, filter: filterOf(8000), sort: "s".repeat(8384) }),
            // Kept as JSON, each of these takes six bytes.
            links.toQuery(maker, { ...query, sort: "\u0001".repeat(2800) })
          ],
          "/field": [links.toTextField(maker, { table: "notes", id: "id", field: "\u0001".repeat(2800) })]
        }
        for (const [path, made] of Object.entries(refusals)) {
          for (const refused of yield* Effect.all(made.map((link) => Effect.flip(link)))) {
            assert.deepInclude(refused, { code: "invalid_request" })
            assert.include(JSON.stringify(refused), `"${path}"`)
          }
        }
        const sql = yield* SqlClient.SqlClient
        const [kept] = yield* sql<{ longest: number }>`SELECT max(octet_length(target)) AS longest FROM links`
        assert.isAtMost(kept!.longest, 16_384)
      })
    )

    it.effect("tells no totals of the account when there is no room for what is saved or restored", () =>
      Effect.gen(function* () {
        const { id, key, links, textLinks, updated_at } = yield* withRow(
          '{"t":"a long text of some fifty bytes, which goes"}'
        )
        yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"t":"b"}}` })
        const filled = yield* wire("POST", "/v1/other", { key, body: `{"n":"${"x".repeat(75)}"}` })
        assert.strictEqual(filled.status, 201, filled.text)
        const { view } = yield* textLinks("t")
        const shown = yield* shownTime(view)
        const edit = `{"updated_at":"${shown}","patch":{"t":"${"y".repeat(40)}"}}`
        assert.notStrictEqual(shown, updated_at)
        for (const refused of [yield* save(view, edit), yield* save(links.view, edit)]) {
          assertProblem(refused, 413, "storage_limit")
          const problem = jsonOf<object>(refused)
          assert.deepInclude(problem, { detail: "The account has no room for a longer text.", limit: 100 })
          assert.notProperty(problem, "current")
        }
        for (const refused of [yield* restore(view), yield* restore(links.view)]) {
          assert.strictEqual(refused.status, 400)
          assert.match(refused.text, /role="alert">The account has no room for this\.</)
        }
      })
    )
  }
)

layer(serviceLayer({ LOG_LEVEL: "trace", LOG_FORMAT: "json" }).pipe(Layer.provideMerge(Terminal.layer)))(
  "A link's tokens",
  (it) => {
    it.effect("P21 stand in no log line", () =>
      Effect.gen(function* () {
        const { links, updated_at } = yield* withRow('{"n":1}')
        for (const path of ["", "?view=history", "/download", "/nothing"]) yield* wire("GET", links.view + path)
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
