import { assert, describe, it } from "@effect/vitest"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { fold } from "../../../src/domain/query/SearchWords.ts"
import { snippetOf } from "../../../src/domain/query/Look.ts"
import { atOnce } from "../../support/CachedRows.ts"

const snippet = (row: object, ...words: ReadonlyArray<string>): string =>
  atOnce(snippetOf(JsonText.trusted(JSON.stringify(row)), words.map(fold)))

const filler = (count: number) => "lorem ipsum ".repeat(count)

describe("A snippet", () => {
  it("is a short text as it is, with white space as blanks, and never a name", () => {
    assert.strictEqual(snippet({ dentist: 1, text: "The\n\tDentist  at 9" }, "dentist"), "The Dentist at 9")
    assert.strictEqual(snippet({ other: "no", deep: [{ text: "Café" }] }, "CAFE"), "Café")
  })

  it("cuts at words, and tells where it left text out", () => {
    const text = `${filler(30)}the dentist ${filler(30)}`
    const found = snippet({ text }, "dentist")
    assert.match(found, /^…(?:lorem |ipsum )+the dentist (?:lorem |ipsum )+(?:lorem|ipsum)…$/)
    assert.isBelow(found.length, 165)
    assert.match(snippet({ text: `the dentist ${filler(30)}` }, "dentist"), /^the dentist lorem/)
    assert.match(snippet({ text: `${filler(30)}the dentist` }, "dentist"), /^….*the dentist$/)
  })

  it("has a passage for each word, until it is long enough", () => {
    assert.strictEqual(snippet({ a: "one", b: "other", c: "two words" }, "two", "one"), "one … two words")
    const far = `one ${filler(30)}two ${filler(30)}three ${filler(30)}`
    const found = snippet({ far }, "one", "two", "three")
    assert.match(found, /^one .*…lorem .*two /)
    assert.notInclude(found, "three")
    assert.isBelow(found.length, 330)
  })

  it("finds its place whatever a character folds to, and halves none", () => {
    for (const character of ["ﷺ", "e\u0301", "😀", "ﬁ", "\ud800", "İ"]) {
      for (const count of [1, 39, 40, 41, 1023, 1024, 3000]) {
        for (const between of ["", " "]) {
          const text = `${character.repeat(count)}${between}Dentist${between}${character.repeat(count)}`
          const found = snippet({ text }, "dentist")
          assert.include(found, "Dentist", `${count} times ${character}`)
          if (character !== "\ud800") assert.isTrue(found.isWellFormed(), `${count} times ${character}`)
        }
      }
    }
  })
})
