import { Effect } from "effect"
import { wire, type WireRequest } from "./Wire.ts"

export const importBody = (
  key: string,
  body: string,
  { query = "", ...options }: WireRequest & { query?: string } = {}
) => wire("POST", `/v1/_import${query}`, { key, body, ...options })

export const exported = (key: string) => Effect.map(wire("GET", "/v1/_export", { key }), ({ text }) => text)

/** A list within a list, so many levels deep. */
export const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

/** Settings under which few rows are too many. */
export const smallLimits = {
  LIMIT_TABLES: "3",
  LIMIT_ROWS_PER_TABLE: "4",
  LIMIT_ROW_BYTES: "1000",
  LIMIT_STORAGE_BYTES: "3000"
}

/** A field that makes a row of an import so many bytes long. */
export const big = (bytes: number) => `"t":"${"x".repeat(bytes - 8)}"`
