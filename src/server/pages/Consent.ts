import { Result, Schema } from "effect"
import type { Grant } from "../../domain/Actor.ts"
import { TableName } from "../../domain/Query.ts"
import type { ConsentChoice } from "./ConsentPage.ts"

const isTableName: (text: string) => boolean = Schema.is(TableName)
const maxTables = 100

/** Reads the choice; a form that says nothing of how much it allows means the tables that it names, and no more. */
export const choiceOf = (form: URLSearchParams): ConsentChoice => {
  const access = form.get("access")
  return {
    access: access === "full" || access === "read" ? access : "tables",
    tables: form.getAll("table"),
    otherTables: form.get("other_tables") ?? ""
  }
}

/** The grant that a choice makes, or why it makes none, in words for the person. */
export const grantOf = (choice: ConsentChoice): Result.Result<Grant, string> => {
  if (choice.access !== "tables") return Result.succeed({ access: choice.access, tables: null })
  const others = choice.otherTables.split(/[\s,;]+/).filter((name) => name !== "")
  const tables = [...new Set([...choice.tables, ...others])].toSorted()
  const wrong = tables.find((name) => !isTableName(name))
  if (wrong !== undefined) {
    return Result.fail(`“${wrong.slice(0, 70)}” can't be a table: a name is a letter, then letters, digits, _ or -.`)
  }
  if (tables.length === 0) return Result.fail("Choose at least one table, or another kind of access.")
  if (tables.length > maxTables)
    return Result.fail(`Choose at most ${maxTables} tables, or give access to all of them.`)
  return Result.succeed({ access: "tables", tables })
}
