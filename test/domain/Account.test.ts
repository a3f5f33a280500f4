import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { MagicLinkRequest } from "../../src/domain/Account.ts"

const decode = Schema.decodeUnknownOption(MagicLinkRequest)

const accepted: ReadonlyArray<readonly [string, string]> = [
  ["ada@example.com", "ada@example.com"],
  ["  Ada.Lovelace+Notes@Example.COM \n", "ada.lovelace+notes@example.com"],
  ["o'brien@example.co.uk", "o'brien@example.co.uk"],
  ["!#$%&'*+/=?^_`{|}~-@x.y", "!#$%&'*+/=?^_`{|}~-@x.y"],
  ["root@localhost", "root@localhost"],
  [`${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}`, ""],
  ["a@xn--bcher-kva.example", "a@xn--bcher-kva.example"]
]

const refused = [
  "",
  "ada",
  "@example.com",
  "ada@",
  "ada@@example.com",
  "ada@example.com@evil.example",
  "ada@example.com, eve@evil.example",
  "ada@example.com;eve@evil.example",
  "ada@example.com eve@evil.example",
  "<ada@example.com>",
  "Ada <ada@example.com>",
  '"ada"@example.com',
  '"ada@evil.example"@example.com',
  "ada(comment)@example.com",
  "ada@example.com(comment)",
  "ada@example.com\r\nBcc: eve@evil.example",
  "ada\r\n@example.com",
  "ada\0@example.com",
  "ada@[127.0.0.1]",
  "ada@example..com",
  "ada@.example.com",
  "ada@example.com.",
  "ada@-example.com",
  "ada@example-.com",
  ".ada@example.com",
  "ada.@example.com",
  "a..da@example.com",
  "ädä@example.com",
  "ada@exämple.com",
  "\u212Aate@example.com",
  "group:ada@example.com;",
  `${"a".repeat(65)}@example.com`,
  `ada@${"b".repeat(64)}.com`,
  `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(62)}`
]

describe("E-mail address", () => {
  for (const [typed, kept] of accepted) {
    it(`accepts ${JSON.stringify(typed)}`, () => {
      assert.deepStrictEqual(decode({ email: typed }), Option.some({ email: kept === "" ? typed : kept }))
    })
  }

  for (const typed of refused) {
    it(`refuses ${JSON.stringify(typed)}`, () => {
      assert.isTrue(Option.isNone(decode({ email: typed })))
    })
  }

  it("is judged quickly, however hostile", { timeout: 1000 }, () => {
    for (const hostile of [`${"a.".repeat(50_000)}@`, `a@${"a-".repeat(50_000)}`, "a".repeat(1_000_000)]) {
      assert.isTrue(Option.isNone(decode({ email: hostile })))
    }
  })
})
