import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { AccountId, accountIdBytes, accountIdFrom } from "../../src/domain/Account.ts"
import * as Key from "../../src/domain/Key.ts"

const bytes = (length: number) =>
  Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(
    Schema.isBetweenLength(length, length)
  )
const Drawn = { account: bytes(accountIdBytes), secret: bytes(Key.secretBytes) }

const keyOf = (drawn: { readonly account: ReadonlyArray<number>; readonly secret: ReadonlyArray<number> }) => {
  const accountId = accountIdFrom(Uint8Array.from(drawn.account))
  return { accountId, text: Key.make(accountId, Uint8Array.from(drawn.secret)) }
}

const position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 72 }))
const other = Schema.Literals([..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "-", " ", "é"])

describe("API key", () => {
  it.prop("reads the account from every key it makes", { drawn: Schema.Struct(Drawn) }, ({ drawn }) => {
    const { accountId, text } = keyOf(drawn)
    assert.match(text, /^svc_live_[a-z2-7]{20}_[0-9A-Za-z]{43}$/)
    assert.deepStrictEqual(Key.parse(text), Option.some(accountId))
    assert.strictEqual(Key.prefix(text), text.slice(0, 34))
  })

  it.prop(
    "P26 refuses a key with one wrong character",
    { drawn: Schema.Struct(Drawn), position, other },
    ({ drawn, position, other }) => {
      const { text } = keyOf(drawn)
      const wrong = text.slice(0, position) + other + text.slice(position + 1)
      assert.strictEqual(Option.isSome(Key.parse(wrong)), wrong === text)
    }
  )

  it.prop(
    "refuses a key with two characters swapped",
    { drawn: Schema.Struct(Drawn), position },
    ({ drawn, position }) => {
      const { text } = keyOf(drawn)
      const [one = "", two = ""] = text.slice(position)
      const swapped = text.slice(0, position) + two + one + text.slice(position + 2)
      // Where the secret's body meets its check characters a swap is caught by chance only.
      if (position !== 70) assert.strictEqual(Option.isSome(Key.parse(swapped)), swapped === text)
    }
  )

  it.prop(
    "refuses a key with a character lost or doubled, or with text around it",
    { drawn: Schema.Struct(Drawn), position },
    ({ drawn, position }) => {
      const { text } = keyOf(drawn)
      for (const wrong of [
        text.slice(0, position) + text.slice(position + 1),
        text.slice(0, position + 1) + text.slice(position),
        ` ${text}`,
        `${text}\n`
      ]) {
        assert.isTrue(Option.isNone(Key.parse(wrong)))
      }
    }
  )

  it("spreads different random bytes over different keys", () => {
    const account = AccountId.make("a".repeat(20))
    const secrets = Array.from({ length: 256 }, (_, index) => Key.make(account, new Uint8Array(32).fill(index)))
    assert.strictEqual(new Set(secrets).size, 256)
  })

  it("takes names of 1 to 80 characters, however they are encoded", () => {
    const isName = Schema.is(Key.KeyName)
    for (const name of ["x", " ", "\u{1f511}".repeat(80), "line\nbreak"]) assert.isTrue(isName(name))
    for (const name of ["", "x".repeat(81), "nul\0", "half \ud83d"]) assert.isFalse(isName(name))
  })
})
