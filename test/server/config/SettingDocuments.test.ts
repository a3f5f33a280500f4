import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { limitNames, limits, limitsWith } from "../../../src/domain/Limits.ts"
import { settingGroups } from "../../../src/server/config/Settings.ts"
import { configurationPage, defaultText } from "../../../src/server/pages/docs/ConfigurationPage.ts"

const fileText = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")

const settings = settingGroups.flatMap(([, settings]) => settings)
const names = settings.map(({ name }) => name).toSorted()
const readme = fileText("README.md")

/** The rows of the table under a heading of a README's section, as cells. */
const tableOf = (firstColumn: string): ReadonlyArray<ReadonlyArray<string>> => {
  const rows = new RegExp(`^\\| ${firstColumn} \\|.*\\n\\|[- |]+\\n((?:\\|.*\\n)+)`, "m").exec(readme)?.[1] ?? ""
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
  it("stands in one of the README's tables, with its default, and none that is not read does", () => {
    const told = new Map<string, string>()
    for (const [variables = "", defaults = ""] of tableOf("Variable")) {
      const listed = codeIn(variables)
      const values = listed.length > 1 ? defaults.split(", ") : [defaults]
      for (const [index, name] of listed.entries()) told.set(name, values[index] ?? "")
    }
    const described = new Map<string, readonly [label: string, value: number]>()
    for (const [label = "", value = "", variable = ""] of tableOf("Limit")) {
      if (variable.startsWith("with ")) continue
      for (const name of codeIn(variable)) described.set(name, [label, limitIn(value)])
    }
    assert.deepStrictEqual([...told.keys(), ...described.keys()].toSorted(), names)
    for (const setting of settings) {
      if (!described.has(setting.name)) assert.strictEqual(told.get(setting.name), defaultText(setting), setting.name)
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

  it("is described by itself on the page of the settings, at an anchor of its name", () => {
    const page = String(configurationPage())
    assert.deepStrictEqual([...page.matchAll(/<tr id="([^"]+)">/g)].map(([, id]) => id ?? "").toSorted(), names)
    for (const { meaning, name } of settings) assert.match(meaning, /^[A-Z`].{10,}\.$/, name)
  })
})
