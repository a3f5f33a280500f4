import { Context, Effect, Layer } from "effect"
import { Unavailable } from "../../domain/Problem.ts"
import { BodyTimes } from "./ReadBody.ts"
import { makeRoom, type Busy, type Room } from "./Room.ts"

const mib = 1_048_576

/**
 * The memory that large requests share, by what it is for. The figures let a process of 512 MB live: working on a body or
 * building an answer takes several times its size.
 */
const sizes = {
  bodies: { total: 64 * mib, perAccount: 16 * mib },
  imports: { total: 64 * mib, perAccount: 32 * mib },
  workspaces: { total: 128 * mib, perAccount: 64 * mib },
  answers: { total: 224 * mib, perAccount: 112 * mib }
} as const

/** Exports that are read at once: each holds a database connection for as long as its reader takes. */
export const exportsAtOnce = { total: 10, perAccount: 2 } as const

/** How many bodies one key, connection or link may be sending at once, and how many all those of an account together. */
const unfinishedBodies = { perSender: 8, perAccount: 64 } as const

/** The rooms of this process. Whoever takes from several takes from them in this order. */
export class Capacity extends Context.Service<
  Capacity,
  {
    /** Bodies that are not all here yet, by the id of the key, connection or link that they are sent with. */
    readonly senders: Room
    /** The same bodies by account, which may have any number of keys and links: so many small ones take no room. */
    readonly unfinished: Room
    /** Bytes of large bodies, from their first byte until they are answered. */
    readonly bodies: Room
    /** Bytes of the bodies of imports. */
    readonly imports: Room
    /** Bytes of the rows that writes read, and of those they make, until they are stored. */
    readonly workspaces: Room
    /** Bytes of what is read for an answer, and then of the answer until it is sent. */
    readonly answers: Room
    /** Exports that are being read. */
    readonly exports: Room
  }
>()("agent-memory/server/capacity/Capacity") {
  static readonly layer = Layer.effect(
    Capacity,
    Effect.gen(function* () {
      const patience = (yield* BodyTimes).turn
      const room = (size: { readonly total: number; readonly perAccount: number }) => makeRoom({ ...size, patience })
      // Whoever sends a body waits in both of these, and may be silent for no longer than a large body waits.
      const turns = (perAccount: number) =>
        makeRoom({ total: Number.POSITIVE_INFINITY, perAccount, patience: patience / 2 })
      return Capacity.of({
        senders: turns(unfinishedBodies.perSender),
        unfinished: turns(unfinishedBodies.perAccount),
        bodies: room(sizes.bodies),
        imports: room(sizes.imports),
        workspaces: room(sizes.workspaces),
        answers: room(sizes.answers),
        exports: makeRoom({ ...exportsAtOnce, patience: "2 seconds" })
      })
    })
  )
}

/** The 503 of a request that found no room, with the way out for either reason. */
export const noRoom =
  (details: { readonly account: string; readonly service: string }) =>
  ({ share }: Busy): Unavailable =>
    new Unavailable({
      detail: details[share],
      hint: "Wait as Retry-After says, then send the same request again."
    })

/** A 503 of {@link noRoom} for work on large answers, before any of it is done. */
export const noRoomForAnswer = noRoom({
  account: "Too many large answers to this account are being made and sent at once. Ask for fewer rows at once.",
  service: "Too many large answers are being made and sent at once."
})
