import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { fillLimits, limitNames, limits, limitsWith, limitText, usageName } from "../../src/domain/Limits.ts"
import { narrowed, toolsOf } from "../server/mcp/Listing.ts"
import { newAccount, request, serviceLayer } from "../support/TestService.ts"

/** Values that no text has by chance, and that no default has. */
const set = {
  LIMIT_TABLES: "23",
  LIMIT_ROWS_PER_TABLE: "1777",
  LIMIT_STORAGE_BYTES: String(37 * 1024 * 1024),
  LIMIT_ROW_BYTES: String(96 * 1024),
  LIMIT_BATCH_OPERATIONS: "83",
  LIMIT_ACTIVE_KEYS: "107",
  LIMIT_KEYS_PER_HOUR: "67",
  REVOKED_KEY_DAYS: "91",
  LIMIT_VERSIONS_PER_ROW: "13",
  LIMIT_VERSION_DAYS: "33",
  LIMIT_WRITES_PER_MINUTE: "37",
  LIMIT_READS_PER_MINUTE: "73",
  LIMIT_REQUEST_BYTES: String(9 * 1024 * 1024),
  IDEMPOTENCY_HOURS: "27",
  MAGIC_LINK_MINUTES: "14",
  LINK_MINUTES: "59"
}

const changed = limitNames.filter((name) => Object.hasOwn(set, limits[name].setting ?? ""))
const values = limitsWith(
  Object.fromEntries(changed.map((name) => [name, Number(set[limits[name].setting as keyof typeof set])]))
)
const defaults = limitsWith({})

/** What a text would say of the limits that are set, if it stated a default as a fact. */
const stale = [
  /\b64 KB, without/,
  /\b25 MB\b/,
  /\b1,000 (?:rows|tables)\b/,
  /\b1 to 100 operations\b/,
  /\b(?:30|60) (?:writes|reads|a minute|per minute)\b/,
  /\blast 10\b/,
  /\b30 days\b/,
  /\b90 days\b/,
  /\b24 hours\b/,
  /\b(?:10|60) minutes\b/,
  /\b100 active keys\b/,
  /\b8388608\b|\b8 MB\b/
]

const said = (text: string, names: ReadonlyArray<keyof typeof values>, where: string) => {
  for (const name of names) assert.include(text, limitText(name, values), `${where} says ${name}`)
  for (const fault of stale) assert.notMatch(text, fault, where)
  assert.notMatch(text, /\{limits\./, where)
}

describe("The limits", () => {
  it("are filled in by their placeholders, as people read them", () => {
    const text = "{limits.rowBytes}, {limits.versionDays}, {limits.rowsPerTable}, {table}"
    assert.strictEqual(fillLimits(text, defaults), "64 KB, 30 days, 1,000, {table}")
    assert.strictEqual(fillLimits("{limits.linkMinutes}", limitsWith({ linkMinutes: 1 })), "1 minute")
  })

  it("follow from others where they are not set", () => {
    const lowered = limitsWith({ writesPerMinute: 2, storageBytes: 100 * 1024 * 1024 })
    assert.strictEqual(lowered.accountWritesPerMinute, 40)
    assert.strictEqual(lowered.importRequestBytes, 128 * 1024 * 1024)
    assert.strictEqual(limitsWith({ writesPerMinute: 2, accountWritesPerMinute: 3 }).accountWritesPerMinute, 3)
  })

  it("are described in one or more sentences, with a default within the range", () => {
    for (const name of limitNames) {
      const { label, meaning, range, setting } = limits[name]
      assert.match(meaning, /^[A-Z].{10,}\.$/, name)
      assert.match(label, /^[A-Z].*[^.]$/, name)
      assert.strictEqual(range === undefined, setting === undefined, name)
      if (range !== undefined) assert.isTrue(range[0] <= defaults[name] && defaults[name] <= range[1], name)
    }
  })
})

layer(serviceLayer(set), { excludeTestServices: true })("A service with other limits than the defaults", (it) => {
  it.effect("says so in its OpenAPI document, and nowhere the defaults", () =>
    Effect.gen(function* () {
      const document = (yield* request("GET", "/openapi.json")).text
      said(
        document,
        ["rowBytes", "batchOperations", "versionsPerRow", "versionDays", "idempotencyHours", "linkMinutes"],
        "/openapi.json"
      )
      said(document, ["writesPerMinute", "readsPerMinute", "activeKeys", "magicLinkMinutes"], "/openapi.json")
    })
  )

  it.effect("says so on its pages", () =>
    Effect.gen(function* () {
      const pages: ReadonlyArray<readonly [path: string, names: ReadonlyArray<keyof typeof values>]> = [
        ["/", ["tables", "rowsPerTable", "rowBytes", "storageBytes", "writesPerMinute", "readsPerMinute"]],
        ["/llms.md", ["tables", "rowBytes", "batchOperations", "versionDays", "activeKeys"]],
        ["/llms.txt", []],
        ["/how-to-use", []],
        ["/docs", ["idempotencyHours"]],
        ["/docs/rows", ["rowBytes", "batchOperations", "storageBytes", "idempotencyHours"]],
        ["/docs/versions", ["versionsPerRow", "versionDays"]],
        ["/docs/keys", ["activeKeys", "keysPerHour", "revokedKeyDays"]],
        ["/docs/links", ["linkMinutes"]],
        ["/docs/tables", []],
        ["/docs/errors", ["requestBytes", "activeKeys", "rowsPerTable"]],
        ["/docs/tools", ["rowBytes", "batchOperations", "linkMinutes", "versionDays", "versionsPerRow"]]
      ]
      for (const [path, names] of pages) {
        const { status, text } = yield* request("GET", path)
        assert.strictEqual(status, 200, path)
        said(text, names, path)
      }
      const search = (yield* request("GET", "/docs/search.json")).text
      assert.notInclude(search, "{limits.")
      assert.include(search, limitText("batchOperations", values))
    })
  )

  it.effect("says so to agents, and in the usage of an account", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const tools = JSON.stringify(yield* toolsOf(token))
      said(tools, ["rowBytes", "batchOperations", "versionsPerRow", "versionDays", "linkMinutes"], "tools/list")
      const { apiKey } = yield* newAccount
      const usage = JSON.parse((yield* request("GET", "/v1/_usage", { key: apiKey })).text)
      assert.deepStrictEqual(Object.keys(usage.limits), limitNames.map(usageName))
      for (const name of changed) assert.strictEqual(usage.limits[usageName(name)], values[name], name)
    })
  )
})
