import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { guardOf } from "../../src/domain/Guard.ts"

const time = "2026-11-27T20:07:59.549Z"
const at = Date.parse(time)

const ofHeader = (ifMatch: string) =>
  Result.match(guardOf({ ifMatch }, ""), { onSuccess: (guard) => guard, onFailure: ({ detail }) => detail })

describe("A guard", () => {
  it("reads If-Match as RFC 9110 has it", () => {
    assert.deepStrictEqual(ofHeader(`"${time}"`), [at])
    assert.deepStrictEqual(ofHeader(` "${time}" ,, "other,one",\t"2026-11-27T20:07:59.550Z"`), [at, at + 1])
    assert.strictEqual(ofHeader(" * "), "present")
  })

  it("matches no row by weak tags, or by tags that are no time of a row", () => {
    assert.deepStrictEqual(ofHeader(`W/"${time}"`), [])
    assert.deepStrictEqual(ofHeader('"abc", ""'), [])
  })

  it("refuses a header that is no list of tags, in time that grows with its length alone", () => {
    for (const header of [time, `"${time}`, `"${time}" "${time}"`, "", ",", "*, *", `w/"${time}"`, `"é€"`]) {
      assert.include(String(ofHeader(header)), "if-match must be the updated_at of the row in quotes", header)
    }
    const before = process.threadCpuUsage()
    ofHeader(`${" ".repeat(16_000)}x`)
    assert.isBelow(process.threadCpuUsage(before).user / 1000, 50)
  })

  it("is a time in the spelling of rows, null, or none, and not both of its forms", () => {
    const of = (ifUpdatedAt: string | null | undefined, ifMatch?: string) =>
      Result.match(guardOf({ ifUpdatedAt, ifMatch }, "/operations/1"), {
        onSuccess: (guard) => guard,
        onFailure: ({ detail }) => detail
      })
    assert.deepStrictEqual(of(time), [at])
    assert.strictEqual(of(null), "absent")
    assert.isUndefined(of(undefined))
    for (const text of ["", "yesterday", "2026-11-27T20:07:59Z", "2026-11-27T21:07:59.549+01:00"]) {
      assert.include(String(of(text)), "/operations/1/ifUpdatedAt must be the updated_at", text)
    }
    assert.include(String(of(time, `"${time}"`)), "send one of them")
  })
})
