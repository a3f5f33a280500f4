/** What one write did to one row. */
export interface ModelChange {
  readonly change: number
  readonly table: string
  readonly id: string
  readonly isDelete: boolean
  /** The version that has the row as it was before: null where there was none, 0 where it is gone for good. */
  readonly version: number | null
}

interface Touched extends Pick<ModelChange, "table" | "id" | "version"> {}

/** The numbers of writes, each of which takes as many as it changes rows, and what they did. */
export interface ModelLog {
  next: number
  changes: Array<ModelChange>
  /** The rows of the write that is under way, each as it was before. */
  touched: Array<Touched>
}

export const emptyLog = (): ModelLog => ({ next: 1, changes: [], touched: [] })

/** A write that is under way changes a row, of which the first time says what was before. */
export const touch = ({ touched }: ModelLog, row: Touched): void => {
  if (!touched.some(({ id, table }) => id === row.id && table === row.table)) touched.push(row)
}

/** Ends a write: gives its number to its rows. */
export const endWrite = (
  log: ModelLog,
  rowOf: (place: Pick<ModelChange, "table" | "id">) => { own: unknown; change: number } | undefined
): void => {
  const change = log.next
  for (const touched of log.touched.splice(0)) {
    const row = rowOf(touched)
    if (row !== undefined) row.change = change
    log.changes.push({ ...touched, change, isDelete: row?.own === undefined })
    log.next++
  }
}
