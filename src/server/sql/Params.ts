import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

// Each array names its element type, so that a statement is prepared once whatever its values are.
const array = (oid: number) => (values: ReadonlyArray<unknown>) => Result.getOrThrow(PgTypes.array(values, oid))

/** Array parameters of statements that work on many rows at once, by element type. */
export const texts: (values: ReadonlyArray<string | null>) => PgTypes.Parameter = array(PgTypes.OID.text)
export const integers: (values: ReadonlyArray<number | null>) => PgTypes.Parameter = array(PgTypes.OID.int4)
export const binaries: (values: ReadonlyArray<Uint8Array | null>) => PgTypes.Parameter = array(PgTypes.OID.bytea)
export const times: (milliseconds: ReadonlyArray<number | null>) => PgTypes.Parameter = (milliseconds) =>
  array(PgTypes.OID.timestamptz)(milliseconds)
export const bigints = (values: ReadonlyArray<number>): PgTypes.Parameter =>
  array(PgTypes.OID.int8)(values.map((value) => BigInt(value)))
export const bigint = (value: number): PgTypes.Parameter => PgTypes.int8(BigInt(value))
export const time = (milliseconds: number): PgTypes.Parameter => PgTypes.timestamptz(milliseconds)
