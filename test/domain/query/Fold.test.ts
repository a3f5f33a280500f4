import { assert, describe, it } from "@effect/vitest"
import { fold } from "../../../src/domain/query/SearchWords.ts"
import { randomFrom } from "../json/RandomJson.ts"

/** What it means, said of the whole text at once. */
const meaning = (text: string): string =>
  text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase().replaceAll(/\p{M}/gu, "").replaceAll("ς", "σ")

describe("A folded text", () => {
  it("has no accents, no case and no width", () => {
    assert.strictEqual(fold("ÉCLAIR ﬁne Ω ΟΔΟΣ"), "eclair fine ω οδοσ")
    assert.strictEqual(fold("İ ｋ ﷺ 한"), "i k صلى الله عليه وسلم 한".normalize("NFKD"))
    assert.strictEqual(fold("x\u0000\ud800y"), "x\u0000\ud800y")
  })

  it("is the compatibility decomposition of each code point and of any mix of them, without marks and in lower case", () => {
    const wrong: Array<string> = []
    for (let point = 0; point < 0x110000; point++) {
      const text = `A${String.fromCodePoint(point)}`
      if (fold(text) !== meaning(text)) wrong.push(point.toString(16))
    }
    const random = randomFrom(1)
    const ranges = [0x300, 0x400, 0x3000, 0xac80, 0x110000]
    for (let times = 0; times < 20_000; times++) {
      const points = Array.from({ length: 8 }, () => random(ranges[random(ranges.length)]!))
      const text = String.fromCodePoint(...points)
      if (fold(text) !== meaning(text)) wrong.push(JSON.stringify(text))
    }
    assert.deepStrictEqual(wrong, [])
  })
})
