import type { Query } from "../../src/domain/Query.ts"
import type { Asked } from "../../src/server/tables/Rows.ts"

/** A query of whole rows, whose cursors nobody follows. */
export const asked = (table: string, query: Query): Asked => ({
  bound: { table, filter: undefined, search: undefined, sort: undefined },
  query,
  selection: undefined
})
