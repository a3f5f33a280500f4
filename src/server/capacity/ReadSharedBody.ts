import { IncomingMessage } from "node:http"
import { Effect, Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Capacity } from "./Capacity.ts"
import { readBody, type BodyFault } from "./ReadBody.ts"
import type { Busy, Room } from "./Room.ts"

/** Whose body it is. */
export interface Sender {
  readonly accountId: string
  /** The id of the key, connection or link that it is sent with. */
  readonly id: string
}

const hasArrived = ({ source }: HttpServerRequest.HttpServerRequest): boolean =>
  source instanceof IncomingMessage && source.complete

/**
 * Reads a body whole, within what the sender and its account may send at once. One that is here already takes no turn. The
 * scope holds the body's room, which should last until nothing works on the body any more.
 */
export const readSharedBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  sender: Sender,
  room: Room,
  { senders, unfinished }: Capacity["Service"]
): Effect.Effect<Uint8Array, BodyFault | Busy, Scope.Scope> => {
  const read = readBody(request, limit, (most) => room.claim(sender.accountId, most))
  if (hasArrived(request)) return read
  // A sender waits for its own turn first, so that one that sends too much takes none of what its account may.
  const turns = Effect.andThen(senders.take(sender.id, 1), unfinished.take(sender.accountId, 1))
  return Effect.acquireUseRelease(Scope.make(), (turn) => Effect.andThen(Scope.provide(turns, turn), read), Scope.close)
}
