/** The id of the n-th row of a made export. */
export const backupId = (n: number) => `01a21fbe-ea17-7524-a592-${n.toString(16).padStart(12, "0")}`

const time = "2026-11-27T20:07:59.549Z"

/** A row as an export has it; `own` are its own fields without the braces. */
export const backupRow = (n: number, own = "", { created = time, id = backupId(n), updated = time } = {}) =>
  `{"id":"${id}","created_at":"${created}","updated_at":"${updated}"${own === "" ? "" : `,${own}`}}`

/** An export of these tables. */
export const backup = (tables: Record<string, ReadonlyArray<string>>) =>
  `{"tables":{${Object.entries(tables)
    .map(([name, rows]) => `${JSON.stringify(name)}:[${rows.join()}]`)
    .join()}}}`

/**
 * The export of an account with so many tables of so many rows, each with so many bytes of its own, in two fields, and with
 * this behind its text.
 */
export const fullBackup = (tables: number, rows: number, bytes: number, end = "") => {
  let n = 0
  const filled = Array.from({ length: tables }, (_, table) => {
    const name = `table${String(table).padStart(2, "0")}`
    const made = Array.from({ length: rows }, () => {
      const head = `"n":${n},"text":"`
      return backupRow(n++, `${head}${"x".repeat(bytes - head.length - Buffer.byteLength(end) - 3)}${end}"`)
    })
    return [name, made] as const
  })
  return backup(Object.fromEntries(filled))
}
