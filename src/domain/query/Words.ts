import { Result } from "effect"
import { maxSearchLength } from "../Limits.ts"
import { invalid, type InvalidRequest } from "../Problem.ts"
import { fold } from "./Fold.ts"

/**
 * Reads a search: a text of 1 to 200 characters that is split at white space. Gives its folded words, each once. `at` is its
 * place in the request, for errors.
 */
export const parseSearch = (search: string, at: string): Result.Result<ReadonlyArray<string>, InvalidRequest> => {
  // A character is one or two units.
  if (search.length > 2 * maxSearchLength || Array.from(search).length > maxSearchLength) {
    return Result.fail(invalid(at, `must have at most ${maxSearchLength} characters`))
  }
  // Some characters fold to white space.
  const words = new Set(search.split(/\s+/u).flatMap((word) => fold(word).split(/\s+/u)))
  words.delete("")
  return words.size === 0 ? Result.fail(invalid(at, "must have at least one word")) : Result.succeed([...words])
}
