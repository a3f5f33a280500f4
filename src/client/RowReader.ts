import type { JsonText } from "../domain/json/JsonText.ts"
import { parseEnvelope } from "../domain/json/ParseEnvelope.ts"
import { readTree } from "../domain/json/ReadTree.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import { shapes } from "./Answers.ts"
import type { StandardSchema } from "./StandardSchema.ts"
import type { AnyRow, Stored } from "./Types.ts"

/** Reads the rows of one table. */
export interface RowReader {
  /** A row as its schema has it. */
  readonly row: (text: JsonText) => Promise<Stored<AnyRow>>
  readonly rows: (texts: ReadonlyArray<JsonText>) => Promise<ReadonlyArray<Stored<AnyRow>>>
  /** A row as it is stored. */
  readonly stored: (text: JsonText) => Stored<AnyRow>
  /** The answer of an operation that was carried out in a batch. */
  readonly parts: (result: JsonText) => Partial<Parts>
}

interface Parts {
  readonly created: boolean
  readonly deleted: number
  readonly updated: number
  readonly row: JsonText
  readonly rows: ReadonlyArray<JsonText>
}

export const makeRowReader = (
  table: string,
  readNumber: (text: string) => unknown,
  schema: StandardSchema | undefined
): RowReader => {
  const stored = (text: JsonText) => readTree(text.text, readNumber) as Stored<AnyRow>

  const row = async (text: JsonText): Promise<Stored<AnyRow>> => {
    const whole = stored(text)
    if (schema === undefined) return whole
    // A schema describes the row's own fields; many refuse fields that they do not know.
    const { created_at, id, updated_at, ...own } = whole
    const validated = await schema["~standard"].validate(own)
    if (validated.issues === undefined) return { id, created_at, updated_at, ...(validated.value as AnyRow) }
    throw new AgentMemoryError({
      code: "invalid_row",
      detail: `Row ${id} of table ${table} does not fit its schema: ${validated.issues[0]?.message ?? "no reason given"}.`,
      hint: "It is stored as it is: correct the row, or widen the schema.",
      table,
      rowId: id,
      issues: validated.issues
    })
  }

  return {
    row,
    rows: (texts) => Promise.all(texts.map(row)),
    stored,
    parts: (result) => parseEnvelope(result.text, shapes.withParts).value as Partial<Parts>
  }
}
