import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { texts, times } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { Selector } from "./ApplyWrite.ts"

/** What a selector finds: how many rows, and how many bytes of JSON they have. */
export interface Found {
  readonly rows: number
  readonly bytes: number
}

/** How rows are found that writes may act on, in statements in which `a` is their account. */
export const makeRowFinder = (sql: SqlClient.SqlClient) => {
  const asked = (selectors: ReadonlyArray<Selector>): Statement.Fragment => sql`unnest(
            ${texts(selectors.map((selector) => selector.table))}::text[],
            ${texts(selectors.map((selector) => selector.fields.short))}::text[]::jsonb[],
            ${texts(selectors.map((selector) => selector.fields.long))}::text[]::jsonb[],
            ${times(selectors.map((selector) => selector.createdAt ?? null))}::timestamptz[],
            ${times(selectors.map((selector) => selector.updatedAt ?? null))}::timestamptz[]
          ) WITH ORDINALITY AS s (table_name, facets, long_facets, created_at, updated_at, place)`

  const isAsked = sql`r.account_id = a.account_id AND r.table_name = s.table_name AND r.facets @> s.facets
              AND (s.long_facets IS NULL OR r.long_facets @> s.long_facets)
              AND (s.created_at IS NULL OR r.created_at = s.created_at)
              AND (s.updated_at IS NULL OR r.updated_at = s.updated_at)`

  // Operations of a batch may name the same rows in many ways; the union reads each of them once.
  const selected = (selectors: ReadonlyArray<Selector>): Statement.Fragment => {
    const byId = selectors.filter((selector) => selector.id !== undefined)
    const byField = selectors.filter((selector) => selector.id === undefined)
    return sql`(
          SELECT s.table_name COLLATE "C" AS table_name, s.id COLLATE "C" AS id
          FROM unnest(
            ${texts(byId.map((selector) => selector.table))}::text[],
            ${texts(byId.map((selector) => selector.id!))}::text[]
          ) AS s (table_name, id)
          UNION
          SELECT r.table_name, r.id
          FROM ${asked(byField)}
          CROSS JOIN LATERAL (
            SELECT r.table_name, r.id
            FROM rows r
            WHERE ${isAsked}
            OFFSET 0
          ) r
        ) AS places
        CROSS JOIN LATERAL (
          SELECT *
          FROM rows r
          WHERE r.account_id = a.account_id AND r.table_name = places.table_name AND r.id = places.id
          LIMIT 1
        ) r`
  }

  const sizes = Effect.fn("WritesRepo.sizes")(function* (accountId: string, selectors: ReadonlyArray<Selector>) {
    const found = yield* sql<{ storage_bytes: bigint; rows: number; bytes: bigint }>`
      SELECT a.storage_bytes, found.rows, found.bytes
      FROM accounts a
      CROSS JOIN LATERAL ${asked(selectors)}
      CROSS JOIN LATERAL (
        SELECT count(*)::integer AS rows, coalesce(sum(octet_length(r.data)), 0)::bigint AS bytes
        FROM rows r
        WHERE ${isAsked}
      ) found
      WHERE a.account_id = ${accountId}
      ORDER BY s.place
    `
    return {
      storageBytes: Number(found[0]!.storage_bytes),
      found: found.map(({ bytes, rows }) => ({ rows, bytes: Number(bytes) }))
    }
  }, refine)

  return { selected, sizes }
}
