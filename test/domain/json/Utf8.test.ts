import { assert, describe, it } from "@effect/vitest"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { decodeUtf8 } from "../../../src/domain/json/Utf8.ts"
import { randomFrom, randomString } from "./RandomJson.ts"

describe("UTF-8", () => {
  it("decodes well-formed text and keeps a byte order mark", () => {
    assert.deepStrictEqual(decodeUtf8(Buffer.from("\ufeffé😀\u0000")), { value: "\ufeffé😀\u0000" })
  })

  it("refuses ill-formed text and names the byte", () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<number>, number]> = [
      [[0x7b, 0xff], 1],
      [[0xc0, 0x80], 0],
      [[0xe0, 0x80, 0x80], 0],
      [[0xed, 0xa0, 0x80], 0],
      [[0xf4, 0x90, 0x80, 0x80], 0],
      [[0xc3, 0xa9, 0xf0, 0x9f, 0x98], 2],
      [[0x80], 0]
    ]
    for (const [bytes, offset] of cases) {
      const result = decodeUtf8(Uint8Array.from(bytes))
      if (result.issue === undefined) assert.fail(`accepted ${bytes.join(" ")}`)
      assert.strictEqual(result.issue.code, "invalid_json")
      assert.include(result.issue.message, `offset ${offset}.`)
    }
  })

  it("counts the bytes of short and long texts", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const text = randomString(randomFrom(seed), 300)
        .toWellFormed()
        .repeat(seed % 7 === 0 ? 300 : 1)
      assert.strictEqual(JsonText.trusted(text).bytes, Buffer.byteLength(text))
    }
  })
})
