import { assert, describe, it } from "@effect/vitest"
import { compareKeys, encodeText, sortKey, isLong, shortKey, stringKey } from "../../../src/domain/keys/SortKey.ts"
import { pick, randomFrom, randomString, spellString, type Random } from "../json/RandomJson.ts"
import { cpuTime } from "../../support/CpuTime.ts"

/** The order of COLLATE "C". */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const points = (text: string): ReadonlyArray<number> => Array.from(text, (character) => character.codePointAt(0)!)

const comparePoints = (a: string, b: string): number => {
  const left = points(a)
  const right = points(b)
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    if (left[i] !== right[i]) return left[i]! - right[i]!
  }
  return left.length - right.length
}

/** A decimal number as a whole number of units of 10^-scale. */
const scaled = (text: string, scale: number): bigint => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    text
  )!
  const shift = scale - fraction.length + Number(exponent)
  return BigInt(sign + "1") * BigInt(whole + fraction) * 10n ** BigInt(shift)
}

const digits = (random: Random, length: number): string =>
  Array.from({ length }, () => pick(random, ["0", "0", "1", "5", "9", "9", String(random(10))])).join("")

const randomNumber = (random: Random): string => {
  const whole = random(3) === 0 ? "0" : String(1 + random(9)) + digits(random, random(random(6) === 0 ? 30 : 4))
  const fraction = random(2) === 0 ? "" : "." + digits(random, 1 + random(5))
  const exponent =
    random(2) === 0
      ? ""
      : pick(random, ["e", "E"]) +
        pick(random, ["", "+", "-"]) +
        "0".repeat(random(2)) +
        String(random(random(2) === 0 ? 4 : 120))
  return pick(random, ["", "-"]) + whole + fraction + exponent
}

const ordered = (keys: ReadonlyArray<string>): void => {
  for (let i = 0; i < keys.length; i++) {
    for (let k = 0; k < keys.length; k++) {
      assert.strictEqual(Math.sign(compareBytes(keys[i]!, keys[k]!)), Math.sign(i - k), `${keys[i]} ${keys[k]}`)
      assert.strictEqual(Math.sign(compareKeys(keys[i], keys[k], false)), Math.sign(i - k))
    }
  }
}

describe("number keys", () => {
  it("are equal exactly for equal numbers and in numeric order", () => {
    for (let seed = 1; seed <= 8000; seed++) {
      const random = randomFrom(seed)
      const a = randomNumber(random)
      const b = random(4) === 0 ? a.replace(/\d/, (digit) => (digit === "9" ? "8" : "9")) : randomNumber(random)
      const difference = scaled(a, 200) - scaled(b, 200)
      const expected = difference < 0n ? -1 : difference > 0n ? 1 : 0
      assert.strictEqual(Math.sign(compareBytes(sortKey(a), sortKey(b))), expected, `${a} ${b}`)
    }
  })

  it("are one for every spelling of a number", () => {
    const same = [
      ["1", "1.0", "10e-1", "0.1e1", "1E0", "1e+0", "0.0001e00004", "1000e-3"],
      ["0", "-0", "0.0", "0e999", "-0.000e-5", "0e123456789012345678901234567890"],
      ["1e400", "10e399", "0.1e401", "1" + "0".repeat(400)],
      ["-120", "-1.2e2", "-12e1", "-120.00"],
      ["1e1000000000000000", "10e999999999999999", "0.001e1000000000000003", "1000e999999999999997"],
      ["1e-1000000000000000", "0.1e-999999999999999", "10e-1000000000000001"],
      [`1e${"9".repeat(5000)}`, `0.1e1${"0".repeat(5000)}`],
      [`10e${"9".repeat(5000)}`, `1e1${"0".repeat(5000)}`],
      [`1e-${"9".repeat(5000)}`, `10e-1${"0".repeat(5000)}`]
    ]
    for (const spellings of same) assert.strictEqual(new Set(spellings.map(sortKey)).size, 1, spellings[0])
  })

  it("order numbers far beyond doubles", () => {
    const huge = "1" + "0".repeat(3000)
    const rising = [
      "1e-" + huge,
      "1.1e-" + huge,
      "1e-999999",
      "5e-324",
      "1e-10",
      "9e-10",
      "0.1",
      "0.11",
      "0.2",
      "1",
      "1.00000000000000000001",
      "2",
      "9",
      "9.9",
      "10",
      "99",
      "100",
      "1e9",
      "1e10",
      "9007199254740992",
      "9007199254740993",
      "1e400",
      "1e4000",
      "1e" + huge,
      "1.5e" + huge,
      "1e1" + huge
    ]
    ordered([...rising.map((number) => "-" + number).toReversed(), "0", ...rising].map(sortKey))
  })

  it("of very long numbers are made quickly", () => {
    const start = cpuTime()
    for (const number of [
      "1".repeat(1e6),
      "-0." + "0".repeat(1e6) + "1",
      "1e" + "9".repeat(1e6),
      "-1e-1" + "0".repeat(1e6)
    ])
      sortKey(number)
    assert.isBelow(cpuTime() - start, 1000)
  })
})

describe("text keys", () => {
  it("are in the order of code points, distinct, and fit for PostgreSQL", () => {
    for (let seed = 1; seed <= 8000; seed++) {
      const random = randomFrom(seed)
      const a = randomString(random, 6)
      const b = random(2) === 0 ? a.slice(0, random(6)) + randomString(random, 3) : randomString(random, 6)
      const keys = [encodeText(a), encodeText(b)] as const
      for (const key of keys) {
        assert.isTrue(key.isWellFormed())
        assert.notInclude(key, "\u0000")
      }
      assert.strictEqual(Math.sign(compareBytes(...keys)), Math.sign(comparePoints(a, b)), `seed ${seed}`)
      assert.strictEqual(Math.sign(compareKeys(stringKey(a), stringKey(b), false)), Math.sign(comparePoints(a, b)))
      assert.strictEqual(Math.sign(compareKeys(stringKey(a), stringKey(b), true)), Math.sign(comparePoints(b, a)))
    }
  })

  it("follow each other from every code point to the next", () => {
    let last = ""
    for (
      let point = 0;
      point <= 0x10ffff;
      point += point > 0xe100 && point < 0xff00 ? 101 : point > 0x10100 ? 1009 : 1
    ) {
      const key = encodeText(String.fromCodePoint(point))
      if (point > 0) assert.isBelow(compareBytes(last, key), 0, point.toString(16))
      last = key
    }
  })

  it("leave ordinary text as it is", () => {
    for (const text of ["", "abc", "é日本😀", "\u0002\ud7ff\uffff"]) assert.strictEqual(encodeText(text), text)
  })

  it("do not depend on a string's spelling", () => {
    for (let seed = 1; seed <= 1000; seed++) {
      const random = randomFrom(seed)
      const value = randomString(random)
      assert.strictEqual(sortKey(spellString(random, value)), stringKey(value))
    }
  })
})

describe("keys of all types", () => {
  it("sort as number, string, false, true, then arrays and objects as one", () => {
    ordered(["-1e9", "0", "7", '""', '"\\u0000"', '"0"', '"a"', "false", "true", "[]"].map(sortKey))
    assert.strictEqual(sortKey("[1]"), sortKey('{"a":2}'))
    assert.notStrictEqual(sortKey("1"), sortKey('"1"'))
    assert.notStrictEqual(sortKey("null"), sortKey('""'))
  })

  it("put null and then missing at the end in both directions", () => {
    const keys = [
      undefined,
      sortKey("null"),
      sortKey("2"),
      sortKey('"a"'),
      sortKey("{}"),
      sortKey("null"),
      sortKey("1")
    ]
    const sorted = (descending: boolean) => keys.toSorted((a, b) => compareKeys(a, b, descending))
    const [one, two, text, object, none] = ["1", "2", '"a"', "{}", "null"].map(sortKey)
    // Array sorts move undefined to the end by themselves, so its place is compared separately.
    assert.deepStrictEqual(sorted(false), [one, two, text, object, none, none, undefined])
    assert.deepStrictEqual(sorted(true), [object, text, two, one, none, none, undefined])
    assert.isAbove(compareKeys(undefined, none, false), 0)
    assert.isAbove(compareKeys(undefined, none, true), 0)
    assert.isBelow(compareKeys(text, undefined, true), 0)
    assert.strictEqual(compareKeys(undefined, undefined, true), 0)
  })
})

describe("short keys", () => {
  it("followed by full keys sort like full keys, and are equal only where a full key decides", () => {
    const random = randomFrom(7)
    const tails = [
      "",
      "a",
      "\ud83d",
      "😀",
      "\u0000",
      "\u0001",
      "\u0003",
      "\ue000",
      "\udc00",
      "\uffff",
      "\u0000\u0003",
      "\u0001\u0003"
    ]
    const keys: Array<string> = []
    for (let length = 190; length <= 199; length++) {
      for (const filler of ["x", "\u0000", "\u0001", "\ue000", "\ud800", "😀"]) {
        for (let n = 0; n < 4; n++) {
          const odd = filler === "x" ? "" : filler.repeat(1 + random(6))
          const head = ("x".repeat(length) + odd).slice(-length)
          keys.push(stringKey(head + pick(random, tails) + pick(random, tails) + pick(random, tails)))
        }
      }
    }
    let long = 0
    for (const a of keys) {
      assert.isAtMost(shortKey(a).length, 202)
      assert.isTrue(shortKey(a).isWellFormed())
      assert.strictEqual(isLong(a), shortKey(a) !== a)
      if (isLong(a)) long++
      for (const b of keys) {
        const byShort = compareBytes(shortKey(a), shortKey(b))
        assert.strictEqual(Math.sign(byShort === 0 ? compareBytes(a, b) : byShort), Math.sign(compareBytes(a, b)))
        if (byShort === 0) assert.isTrue(a === b || (isLong(a) && isLong(b)))
      }
    }
    assert.isAbove(long, 30)
    assert.isBelow(long, keys.length - 30)
  })

  it("cut long numbers as well", () => {
    const numbers = ["1".repeat(300), "1".repeat(300) + ".5", "1".repeat(301)].map(sortKey)
    for (const key of numbers) assert.isTrue(isLong(key))
    ordered(numbers)
  })
})
