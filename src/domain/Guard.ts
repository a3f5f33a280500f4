import { Result } from "effect"
import { invalid, type InvalidRequest } from "./Problem.ts"
import { timeOf, type Row } from "./Row.ts"

/** How a write names the state of the row that it was meant for. */
export interface Guarded {
  /** The row's `updated_at`; null for no row at all. */
  readonly ifUpdatedAt?: string | null | undefined
  readonly ifMatch?: string | undefined
}

/** What a row must be for a write: absent, any that there is, or last changed at one of these times in milliseconds. */
export type Guard = "absent" | "present" | ReadonlyArray<number>

const example = "2026-11-27T20:07:59.549Z"

/**
 * Reads a guard; undefined where there is none. `at` is the operation's JSON Pointer in the request. `If-Match` is read by
 * RFC 9110: `*` is any row, a list has tags that each may match, and weak tags match nothing.
 */
export const guardOf = (
  { ifMatch, ifUpdatedAt }: Guarded,
  at: string
): Result.Result<Guard | undefined, InvalidRequest> => {
  if (ifUpdatedAt === undefined) return ifMatch === undefined ? Result.succeed(undefined) : guardOfTags(ifMatch)
  const path = `${at}/ifUpdatedAt`
  if (ifMatch !== undefined) return Result.fail(invalid(path, "and the header If-Match say the same; send one of them"))
  if (ifUpdatedAt === null) return Result.succeed("absent")
  const time = timeOf(ifUpdatedAt)
  if (time !== undefined) return Result.succeed([time])
  return Result.fail(invalid(path, `must be the updated_at of the row as it was read, such as ${example}`))
}

// One entity tag or none, as a list may have empty parts, up to its comma.
const part = /[\t ]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[\t ]*)?(?:,|$)/y

const guardOfTags = (header: string): Result.Result<Guard, InvalidRequest> => {
  if (header.trim() === "*") return Result.succeed("present")
  const times: Array<number> = []
  let tags = 0
  for (part.lastIndex = 0; part.lastIndex < header.length;) {
    const found = part.exec(header)
    if (found === null) {
      tags = 0
      break
    }
    const [, weak, tag] = found
    if (tag === undefined) continue
    tags++
    const time = weak === undefined ? timeOf(tag) : undefined
    if (time !== undefined) times.push(time)
  }
  if (tags > 0) return Result.succeed(times)
  return Result.fail(invalid("if-match", `must be the updated_at of the row in quotes, such as "${example}", or *`))
}

/** Whether a guard lets a write to this row through; undefined stands for no row. */
export const admits = (guard: Guard, row: Pick<Row, "updatedAt"> | undefined): boolean => {
  if (guard === "absent") return row === undefined
  return row !== undefined && (guard === "present" || guard.includes(row.updatedAt))
}
