import { Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { importable, readRowFile } from "../domain/files/RowFile.ts"
import type { Turns } from "../domain/Turns.ts"
import type { Tables } from "./Formats.ts"
import { Stopped } from "./TerminalText.ts"

/** Nobody waits for a turn at a terminal. */
const ended = <A>(work: Turns<A>): A => {
  while (true) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Reads rows that are no export, all for one table: a JSON array of objects, an object a line, or CSV. `now` is their time. */
export const readPlain = (text: string, table: string, now: string): Result.Result<Tables, Stopped> => {
  const read = ended(readRowFile(text, { table }))
  if (Result.isFailure(read)) return Result.fail(new Stopped({ message: read.failure }))
  const tables = [...read.success.tables].map(([name, rows]) => {
    const made = ended(importable(rows, { makeId: uuidV7Unsafe, now }))
    return [name, made.rows] as const
  })
  return Result.succeed(new Map(tables))
}
