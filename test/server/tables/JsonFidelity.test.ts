import { assert, layer } from "@effect/vitest"
import { Config, Effect } from "effect"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { pick, randomFrom, spellJson, spellString, type Random } from "../../domain/json/RandomJson.ts"

/** The text without white space outside of strings. */
const compact = (text: string): string =>
  text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, (_, quoted: string | undefined) => quoted ?? "")

const NUMBERS = [
  "-0.0",
  "0e0",
  "1e400",
  "-1E+400",
  "1e-400",
  "1.10",
  "0.1000000000000000055511151231257827",
  "123456789012345678901234567890",
  `1${"0".repeat(400)}`,
  "9007199254740993",
  "5e-324"
]

const NAMES = [
  "",
  "__proto__",
  "constructor",
  "toJSON",
  "then",
  "hasOwnProperty",
  "0",
  "10",
  "2",
  "$",
  "a.b",
  " ",
  "\\"
]

/** A random row: its members' texts, with white space. */
const randomRow = (random: Random): string => {
  const members = new Map<string, string>()
  for (let n = random(7); n > 0; n--) {
    const name = pick(random, NAMES)
    members.set(
      name,
      `${spellString(random, name)} :\n${random(2) === 0 ? pick(random, NUMBERS) : spellJson(random).text}`
    )
  }
  members.set(
    "s",
    `"s":${spellString(random, pick(random, ["\u0000", "\ud800", "\udc00x", "e\u0301", "é", "\u2028"]))}`
  )
  return `{ ${[...members.values()].join(" ,\t")} }`
}

const nested = (levels: number) => `{"deep":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`

/** A row's own members, as they stand behind the system fields. */
const own = (row: string): string => {
  const match = /^\{"id":"[^"]*","created_at":"[^"]*","updated_at":"[^"]*",?/.exec(row)
  assert.isNotNull(match)
  return `{${row.slice(match[0].length)}`
}

layer(serviceLayer({ LIMIT_VERSIONS_PER_ROW: "4" }), { excludeTestServices: true })("Any JSON row", (it) => {
  it.effect("P15 comes back as it was sent, through every operation", () =>
    Effect.gen(function* () {
      const seed = yield* Config.withDefault(Config.Int("JSON_SEED"), Date.now() % 1_000_000_000)
      const random = randomFrom(seed)
      const { apiKey: key } = yield* newAccount
      const post = (path: string, body: string) => request("POST", `/v1/rows${path}`, { key, body })
      const stored: Array<string> = []
      for (let n = 0; n < 120; n++) {
        const said = n === 0 ? nested(100) : randomRow(random)
        const text = compact(said)
        const why = `JSON_SEED=${seed}, row ${n}: ${text}`
        const added = yield* post("", said)
        assert.strictEqual(added.status, 201, why)
        assert.strictEqual(own(added.text), text, why)
        const { id } = bodyOf<{ id: string }>(added)
        const filter = encodeURIComponent(JSON.stringify({ id }))
        const queried = yield* request("GET", `/v1/rows?filter=${filter}`, { key })
        assert.strictEqual(queried.text, `{"rows":[${added.text}],"has_more":false}`, why)

        const marker = spellJson(random).text
        const patched = yield* post("/update_row", `{"id":"${id}","patch":{"marker":${marker}}}`)
        const merged = `${text.slice(0, -1)},"marker":${compact(marker)}}`
        assert.strictEqual(own(patched.text.slice('{"row":'.length, -1)), merged, why)
        const versions = yield* request("GET", `/v1/rows/versions?id=${id}`, { key })
        assert.include(versions.text, `"row":${added.text}}],"current":`, why)

        const patch = randomRow(random)
        const operations = `[{"action":"update_row","id":"${id}","patch":{"marker":null}},{"action":"add","row":${said}}]`
        const batch = yield* post("/batch", `{"operations":${operations}}`)
        const [first, second] = [batch.text.indexOf('"result":'), batch.text.lastIndexOf('"result":')]
        const nulled = batch.text.slice(first + '"result":{"row":'.length, batch.text.lastIndexOf('},{"index":1') - 1)
        assert.strictEqual(own(nulled), `${text.slice(0, -1)},"marker":null}`, why)
        const copy = batch.text.slice(second + '"result":'.length, -3)
        assert.strictEqual(own(copy), text, why)

        const upserted = yield* post("/upsert", `{"key":"k","row":{"k":"${id}",${patch.slice(patch.indexOf("{") + 1)}}`)
        const created = upserted.text.slice('{"created":true,"row":'.length, -1)
        assert.strictEqual(own(created), `{"k":"${id}",${compact(patch).slice(1)}`, why)
        const restored = yield* post("/restore", `{"id":"${id}","version":1}`)
        const back = restored.text.slice('{"row":'.length, -1)
        assert.strictEqual(own(back), text, why)
        stored.push(back, copy, created)
      }
      const exported = yield* request("GET", "/v1/_export", { key })
      assert.strictEqual(exported.text, `{"tables":{"rows":[${stored.join()}]}}`)
      const queried = yield* request("GET", "/v1/rows?limit=1000", { key })
      assert.strictEqual(queried.text, `{"rows":[${stored.join()}],"has_more":false}`)
    })
  )

  it.effect("keeps the place of a field that a patch replaces, however its name is spelled", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const added = yield* request("POST", "/v1/rows", {
        key,
        body: String.raw`{"\u0061":1,"10":2,"__proto__":3,"2":4}`
      })
      const { id } = bodyOf<{ id: string }>(added)
      const patch = String.raw`{"2":1.50,"new":null,"__pr\u006fto__":{"x":1e400},"a":[ ]}`
      const patched = yield* request("POST", "/v1/rows/update_row", { key, body: `{"id":"${id}","patch":${patch}}` })
      const row = own(patched.text.slice('{"row":'.length, -1))
      assert.match(row, /^\{"(?:a|\\u0061)":\[\],"10":2,"__pr(?:o|\\u006f)to__":\{"x":1e400\},"2":1\.50,"new":null\}$/)
    })
  )

  it.effect("of more than 100 levels is refused wherever it stands", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const row = nested(101)
      for (const [path, body] of [
        ["", row],
        ["/upsert", `{"key":"k","row":{"k":1,${row.slice(1)}}`],
        ["/update_row", `{"id":"x","patch":${row}}`],
        ["/update_where", `{"filter":{"a":1},"patch":${row}}`],
        ["/batch", `{"operations":[{"action":"add","row":${row}}]}`]
      ] as const) {
        const refused = yield* request("POST", `/v1/rows${path}`, { key, body })
        assert.strictEqual(refused.status, 400, path)
        assert.strictEqual(bodyOf<{ code: string }>(refused).code, "too_deep", path)
      }
      for (const [path, body] of [
        ["/upsert", `{"key":"k","row":{"k":1,${nested(100).slice(1)}}`],
        ["/batch", `{"operations":[{"action":"add","row":${nested(100)}}]}`]
      ] as const) {
        assert.strictEqual((yield* request("POST", `/v1/rows${path}`, { key, body })).status, 200, path)
      }
    })
  )
})
