import { Context, Effect, Layer, type Scope } from "effect"
import { Unavailable } from "../../domain/Problem.ts"
import { BodyTimes } from "./ReadBody.ts"
import { type Busy, makeRoom, type Room } from "./Room.ts"

const mib = 1_048_576

/**
 * In bytes: the memory that large requests share, by purpose. The sizes suit a process with 512 MB, because parsing a body or
 * building a response takes several times its size.
 */
const sizes = {
  bodies: { total: 64 * mib, perAccount: 16 * mib },
  imports: { total: 64 * mib, perAccount: 32 * mib },
  workspaces: { total: 128 * mib, perAccount: 64 * mib },
  answers: { total: 160 * mib, perAccount: 64 * mib }
} as const

/** Concurrent exports: each holds a database connection for as long as its client takes to read it. */
export const exportsAtOnce = { total: 10, perAccount: 2 } as const

/** How many searches of larger tables one account may make at once: they take turns with all others. */
const scansAtOnce = 2

/** How many bodies one key, connection or link can send at once, and how many all those of an account together. */
const unfinishedBodies = { perSender: 8, perAccount: 64 } as const

/** The rooms of this process. A request that takes from several must do so in this order. */
export class Capacity extends Context.Service<
  Capacity,
  {
    /** Incomplete bodies, by the id of the key, connection or link that they are sent with. */
    readonly senders: Room
    /** The same bodies by account. An account can have many keys and links, and small bodies take no other room. */
    readonly unfinished: Room
    /** Bytes of large bodies, from their first byte until the response. */
    readonly bodies: Room
    /** Bytes of the bodies of imports. */
    readonly imports: Room
    /** Bytes of the rows that writes read, and of the new ones until they are stored. */
    readonly workspaces: Room
    /** Bytes of what is read for a response, and then of the response until it is sent. */
    readonly answers: Room
    /** Exports in progress. */
    readonly exports: Room
    /** Searches of larger tables in memory. */
    readonly scans: Room
  }
>()("agent-memory/server/capacity/Capacity") {
  static readonly layer = Layer.effect(
    Capacity,
    Effect.gen(function* () {
      const patience = (yield* BodyTimes).turn
      const room = (size: { readonly total: number; readonly perAccount: number }) => makeRoom({ ...size, patience })
      // A sender may wait in both of these. Together that is no longer than a large body waits.
      const turns = (perAccount: number) =>
        makeRoom({ total: Number.POSITIVE_INFINITY, perAccount, patience: patience / 2 })
      return Capacity.of({
        senders: turns(unfinishedBodies.perSender),
        unfinished: turns(unfinishedBodies.perAccount),
        bodies: room(sizes.bodies),
        imports: room(sizes.imports),
        workspaces: room(sizes.workspaces),
        answers: room(sizes.answers),
        exports: makeRoom({ ...exportsAtOnce, patience: "2 seconds" }),
        scans: makeRoom({ total: Number.POSITIVE_INFINITY, perAccount: scansAtOnce, patience })
      })
    })
  )
}

/** The 503 of a request that found no room, with a detail for either reason. */
export const noRoom =
  (details: { readonly account: string; readonly service: string }) =>
  ({ share }: Busy): Unavailable =>
    new Unavailable({
      detail: details[share],
      hint: "Wait for the time in `Retry-After`, then send the same request again."
    })

/** The 503 of a request for a large response, before anything is done. */
export const noRoomForAnswer = noRoom({
  account: "The account has too many large responses in progress. Request fewer rows at once.",
  service: "The service has too many large responses in progress."
})

/** Rows of up to this many bytes are read without taking room. */
const smallBytes = 262_144

/** A response takes twice its size: a string with any character beyond Latin-1 has two bytes per character. */
const makingFactor = 2

/** Takes room for a response of `bytes` bytes of rows that are already in memory. The scope holds the room. */
export const roomToAnswer = (
  accountId: string,
  { answers }: Capacity["Service"],
  bytes: number
): Effect.Effect<void, Unavailable, Scope.Scope> =>
  bytes <= smallBytes
    ? Effect.void
    : Effect.asVoid(Effect.mapError(answers.take(accountId, makingFactor * bytes), noRoomForAnswer))

/**
 * Takes room for what is read for a response before it is read. `read` returns how many bytes there are, and reads nothing if
 * there are more than `most`. It is repeated if they have grown meanwhile. The scope holds the room.
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
