import { Schema } from "effect"

const pattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** The rule of table names, for refusals. */
export const tableNameRule = "must be a letter followed by at most 63 letters, digits, _ or -"

/** Whether a text can be the name of a table. */
export const isTableName = (text: string): boolean => pattern.test(text)

/** The name of a table (specification section 2.1). */
export const TableName = Schema.String.check(Schema.isPattern(pattern, { message: tableNameRule })).annotate({
  description: "A letter, then letters, digits, `_` or `-`; at most 64 characters.",
  examples: ["tasks"]
})
