import { Effect, type Scope } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import { noRoomForAnswer, type Capacity } from "./Capacity.ts"

/** Rows of so many bytes are read without asking for room. */
const smallBytes = 262_144

/** How many times its own size an answer takes while it is made: its rows, their text as one, and the bytes of that. */
const makingFactor = 3

/** Makes room for an answer of so many bytes of rows that are in memory already. The scope holds the room. */
export const roomToAnswer = (
  accountId: string,
  { answers }: Capacity["Service"],
  bytes: number
): Effect.Effect<void, Unavailable, Scope.Scope> =>
  bytes <= smallBytes
    ? Effect.void
    : Effect.asVoid(Effect.mapError(answers.take(accountId, makingFactor * bytes), noRoomForAnswer))

/**
 * Makes room for what is read for an answer before it is read. `read` tells how many bytes there are, and reads none of them
 * where they are more than `most`. They may have grown by the time they are read. The scope holds the room.
 */
export const readWithinRoom = Effect.fnUntraced(function* <A extends { readonly bytes: number }, E, R>(
  accountId: string,
  { answers }: Capacity["Service"],
  read: (most: number) => Effect.Effect<A, E, R>
): Effect.fn.Return<A, E | Unavailable, R | Scope.Scope> {
  let most = smallBytes
  while (true) {
    const found = yield* read(most)
    if (found.bytes <= most) return found
    const more = found.bytes + smallBytes - most
    yield* Effect.mapError(answers.take(accountId, makingFactor * more), noRoomForAnswer)
    most += more
  }
})
