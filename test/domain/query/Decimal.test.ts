import { assert, describe, it } from "@effect/vitest"
import { randomFrom } from "../json/RandomJson.ts"
import { add, decimalOf, decimalText, divide, type Decimal } from "../../../src/domain/query/Decimal.ts"

describe("A decimal", () => {
  it("adds exactly, and keeps the finer scale", () => {
    const sum = (...texts: ReadonlyArray<string>) =>
      decimalText(texts.map((text) => decimalOf(text)!).reduce(add, { digits: 0n, exponent: 0 }))
    assert.strictEqual(sum("1.10", "2.20"), "3.30")
    assert.strictEqual(sum("0.1", "0.2"), "0.3")
    assert.strictEqual(sum("1e20", "1"), "100000000000000000001")
    assert.strictEqual(sum("-1.5", "1.50"), "0.00")
    assert.strictEqual(sum("12345678901234567890.123", "-0.001e0"), "12345678901234567890.122")
    assert.isUndefined(decimalOf("1e2001"))
    assert.strictEqual(decimalText(decimalOf("0e99999")!), "0")
  })

  it("averages exactly, or to twenty digits", () => {
    const average = (text: string, count: number) => decimalText(divide(decimalOf(text)!, count))
    assert.strictEqual(average("3.30", 2), "1.65")
    assert.strictEqual(average("1", 3), "0.33333333333333333333")
    assert.strictEqual(average("-2", 3), "-0.66666666666666666667")
    assert.strictEqual(average("1", 8), "0.125")
    assert.strictEqual(average("10", 1), "10")
    assert.strictEqual(average("246913578024691357802.5", 2), "123456789012345678900")
    assert.strictEqual(average("-999999999999999999999.8", 2), "-500000000000000000000")
  })

  it("is printed as JSON that has the same value", () => {
    for (let seed = 0; seed < 300; seed++) {
      const random = randomFrom(seed)
      const digits = BigInt(random(1_000_000_000)) ** BigInt(random(7)) * (random(2) === 0 ? -1n : 1n)
      const exponent = random(121) - 60
      const again = decimalOf(decimalText({ digits, exponent }))!
      const scale = (decimal: Decimal) => decimal.digits * 10n ** BigInt(decimal.exponent + 200)
      assert.strictEqual(scale(again), scale({ digits, exponent }))
    }
  })
})
