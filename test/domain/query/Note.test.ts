import { assert, describe, it } from "@effect/vitest"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { emptyTableNote, filterNote, unknownFieldNote } from "../../../src/domain/query/Note.ts"
import { commonFields, fieldsOf } from "../../../src/domain/query/Fields.ts"
import { atOnce } from "../../support/CachedRows.ts"

const rows = [
  '{"category":"food","amount":4,"tags":["red"],"address":{"city":"Bern"}}',
  '{"category":"rent","date":"x"}'
]
const fields = atOnce(fieldsOf(rows.map((row) => ({ data: scan(row).value! }))))
const note = (filter: string) => filterNote(scan(filter).value!, fields)

describe("A note", () => {
  it("names a field that no row has, what it may have been meant for, and the fields that there are", () => {
    assert.strictEqual(note('{"Category":"food"}'), 'No row has a field "Category"; did you mean "category"?')
    assert.strictEqual(
      note('{"status":"open"}'),
      'No row has a field "status". The fields are "category", "amount", "tags", "address", "date".'
    )
    assert.match(note('{"amount >= 300":3}')!, /Operators go into the value: \{"amount":\{"gte":…\}\}\.$/)
    assert.match(note('{"address.city":"Bern"}')!, /top-level fields only; search looks into nested ones\.$/)
  })

  it("says what a field holds where the filter compares it with another type", () => {
    assert.strictEqual(note('{"amount":"4"}'), '"amount" holds numbers, not strings.')
    assert.strictEqual(note('{"amount":{"gt":"4"}}'), '"amount" holds numbers, not strings.')
    assert.strictEqual(note('{"tags":"red"}'), '"tags" holds arrays: use {"tags":{"has":…}}.')
    assert.strictEqual(note('{"category":{"has":"food"}}'), '"category" holds strings, not arrays.')
    assert.strictEqual(note('{"amount":{"contains":"4"}}'), '"amount" holds numbers, not strings.')
    assert.match(
      note('{"created_at":"2026-03-01"}')!,
      /is a time, not a date: use \{"created_at":\{"gte":"2026-03-01",/
    )
  })

  it("is none where the values are merely not there", () => {
    for (const filter of ['{"amount":5}', '{"id":"x"}', '{"none":{"ne":1}}', '{"none":{"exists":true}}', "{}"]) {
      assert.isUndefined(note(filter), filter)
    }
  })

  it("names near tables, or those that there are", () => {
    assert.strictEqual(
      emptyTableNote("expences", ["expenses", "tasks"]),
      'No table "expences" has rows; did you mean "expenses"?'
    )
    assert.strictEqual(
      emptyTableNote("x", ["expenses", "tasks"]),
      'No table "x" has rows. Those that have are "expenses", "tasks".'
    )
  })

  it("never says that no row has a field of a table with more fields than are known", () => {
    const many = atOnce(
      fieldsOf([{ data: scan(`{${Array.from({ length: 3000 }, (_, n) => `"f${n}":1`).join()}}`).value! }])
    )
    assert.isUndefined(filterNote(scan('{"f2999":2}').value!, many))
    assert.lengthOf(commonFields(many, 50), 50)
    assert.isBelow(unknownFieldNote("x".repeat(10_000), many).length, 400)
  })
})
