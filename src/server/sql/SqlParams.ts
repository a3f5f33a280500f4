import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

// With the type of its elements in the parameter a statement is prepared once for all values.
const array = (oid: number) => (values: ReadonlyArray<unknown>) => Result.getOrThrow(PgTypes.array(values, oid))

/** Array parameters of statements on many rows, by element type. */
export const texts: (values: ReadonlyArray<string | null>) => PgTypes.Parameter = array(PgTypes.OID.text)
export const integers: (values: ReadonlyArray<number | null>) => PgTypes.Parameter = array(PgTypes.OID.int4)
export const binaries: (values: ReadonlyArray<Uint8Array | null>) => PgTypes.Parameter = array(PgTypes.OID.bytea)
export const times: (milliseconds: ReadonlyArray<number | null>) => PgTypes.Parameter = (milliseconds) =>
  array(PgTypes.OID.timestamptz)(milliseconds)
export const bigints = (values: ReadonlyArray<number | null>): PgTypes.Parameter =>
  array(PgTypes.OID.int8)(values.map((value) => (value === null ? null : BigInt(value))))
/** A text to look for that may have any character: no stored one has what stands for NUL, which PostgreSQL does not take. */
export const withoutNul = (text: string): string => text.replaceAll("\0", "\ufffd")

export const bigint = (value: number): PgTypes.Parameter => PgTypes.int8(BigInt(value))
export const time = (milliseconds: number): PgTypes.Parameter => PgTypes.timestamptz(milliseconds)
