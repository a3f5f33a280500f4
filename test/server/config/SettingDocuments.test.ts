import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { limitNames, limits, limitsWith } from "../../../src/domain/Limits.ts"
import { settingGroups } from "../../../src/server/config/Settings.ts"
import { inlineCode } from "../../../src/server/doors/Html.ts"
import { configurationPage, defaultText } from "../../../src/server/pages/docs/ReferencePages.ts"

const fileText = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")

const settings = settingGroups.flatMap(([, settings]) => settings)
const names = settings.map(({ name }) => name).toSorted()

/** The rows of the table of limits, as cells. */
const limitRows = (): ReadonlyArray<ReadonlyArray<string>> => {
  const text = fileText("src/server/pages/docs/limits.md")
  const rows = /^\| Limit \|.*\n\|[- |]+\n((?:\|.*\n)+)/m.exec(text)?.[1] ?? ""
  return rows
    .trim()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim())
    )
}

/** The number in a cell of the limits' table, in bytes if it is a size. */
const limitIn = (cell: string): number => {
  const [, digits = "", unit = ""] = /([\d,]+)(?: (KB|MB))?/.exec(cell) ?? []
  return Number(digits.replaceAll(",", "")) * ({ KB: 1024, MB: 1024 * 1024 }[unit] ?? 1)
}

const codeIn = (cell: string): ReadonlyArray<string> => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? "")

describe("Every setting that is read", () => {
  it("that is a limit stands in the table of limits with its default, and none that is not read does", () => {
    const described = new Map<string, readonly [label: string, value: number]>()
    for (const [label = "", value = "", variable = ""] of limitRows()) {
      if (variable.startsWith("with ")) continue
      for (const name of codeIn(variable)) described.set(name, [label, limitIn(value)])
    }
    const defaults = limitsWith({})
    const declared = limitNames.flatMap((name) => {
      const { label, setting } = limits[name]
      return setting === undefined ? [] : [[setting, [label, defaults[name]]] as const]
    })
    assert.deepStrictEqual(Object.fromEntries(described), Object.fromEntries(declared))
  })

  it("stands in .env.example at its default, and none that is not read does", () => {
    const lines = [...fileText(".env.example").matchAll(/^# ([A-Z][A-Z_]+)=(.*)$/gm)]
    assert.deepStrictEqual(lines.map(([, name]) => name ?? "").toSorted(), names)
    for (const { fallback, name } of settings) {
      assert.strictEqual(lines.find(([, other]) => other === name)?.[2], fallback, name)
    }
  })

  it("is described by itself on the page of the settings, with its default, at an anchor of its name", () => {
    const page = String(configurationPage())
    const rows = new Map([...page.matchAll(/<tr id="([^"]+)">(.*)<\/tr>/g)].map(([, id = "", row = ""]) => [id, row]))
    assert.deepStrictEqual([...rows.keys()].toSorted(), names)
    for (const setting of settings) {
      assert.match(setting.meaning, /^[A-Z`].{10,}\.$/, setting.name)
      const fallback = defaultText(setting)
      const shown = fallback === "" ? "no default" : `default ${String(inlineCode(fallback))}`
      assert.include(rows.get(setting.name), shown)
    }
  })
})
