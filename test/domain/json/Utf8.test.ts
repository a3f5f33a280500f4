import { assert, describe, it } from "@effect/vitest"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { decodeUtf8, release, startFault } from "../../../src/domain/json/Utf8.ts"
import { randomFrom, randomString } from "./RandomJson.ts"

describe("UTF-8", () => {
  it("decodes well-formed text and keeps a byte order mark", () => {
    assert.deepStrictEqual(decodeUtf8(Buffer.from("\ufeffé😀\u0000")), { value: "\ufeffé😀\u0000" })
  })

  it("frees the bytes of a large body though its buffer is not full, and none of a buffer that is shared", () => {
    const mostlyFull = Buffer.allocUnsafeSlow(200_000).subarray(0, 120_000)
    release(mostlyFull)
    assert.strictEqual(mostlyFull.length, 0)
    const shared = Buffer.allocUnsafeSlow(300_000)
    for (const part of [shared.subarray(0, 100_000), shared.subarray(100_000)]) release(part)
    assert.strictEqual(shared.length, 300_000)
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

  it("names another encoding that a text shows at its start, and an empty text behind a mark", () => {
    const json = '{"é":1}'
    const big = Buffer.from(json, "utf16le").swap16()
    const cases: ReadonlyArray<readonly [Uint8Array, string | undefined]> = [
      [Buffer.from(`\ufeff${json}`, "utf16le"), "It is encoded in UTF-16. Convert it to UTF-8."],
      [Buffer.from(json, "utf16le"), "It is encoded in UTF-16. Convert it to UTF-8."],
      [Buffer.concat([Uint8Array.of(0xfe, 0xff), big]), "It is encoded in UTF-16. Convert it to UTF-8."],
      [big, "It is encoded in UTF-16. Convert it to UTF-8."],
      [Uint8Array.of(0xff, 0xfe, 0, 0, 0x7b, 0, 0, 0), "It is encoded in UTF-32. Convert it to UTF-8."],
      [Uint8Array.of(0x7b, 0, 0, 0, 0x7d, 0, 0, 0), "It is encoded in UTF-32. Convert it to UTF-8."],
      [Uint8Array.of(0, 0, 0, 0x7b), "It is encoded in UTF-32. Convert it to UTF-8."],
      [Buffer.from("\ufeff"), "It is empty: it only has a byte order mark."],
      [Buffer.from(`\ufeff${json}`), "It begins with a byte order mark. Send it without one."],
      [Buffer.from(json), undefined],
      [Buffer.from("1"), undefined],
      [Buffer.alloc(0), undefined]
    ]
    for (const [bytes, told] of cases) assert.strictEqual(startFault(bytes, "It"), told, String(bytes))
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
