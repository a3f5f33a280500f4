import { Context, Effect, Layer, type Scope } from "effect"
import { makeAccountSlots, type Busy } from "./AccountSlots.ts"
import { BodyTimes, largeBytes } from "./ReadBody.ts"

// Working on a body takes several times its size, so few large ones are in memory at once, in megabytes. Imports have room
// of their own: one takes as much as several other bodies do, and stays for longer.
const share = { total: 64, perAccount: 16 } as const
const importShare = { total: 64, perAccount: 32 } as const

type Reserve = (accountId: string, bytes: number) => Effect.Effect<void, Busy, Scope.Scope>

/** The room that large bodies of all accounts share, whatever they are sent to. */
export class LargeBodies extends Context.Service<
  LargeBodies,
  {
    /** Makes room for a body of so many bytes until the scope closes. */
    readonly reserve: Reserve
    /** {@link reserve} for the body of an import. */
    readonly reserveImport: Reserve
  }
>()("agent-memory/server/http/LargeBodies") {
  static readonly layer = Layer.effect(
    LargeBodies,
    Effect.gen(function* () {
      const patience = (yield* BodyTimes).turn
      const reserveIn = (room: typeof share | typeof importShare): Reserve => {
        const slots = makeAccountSlots({ ...room, patience })
        return (accountId, bytes) => slots.take(accountId, Math.floor(bytes / largeBytes))
      }
      return LargeBodies.of({ reserve: reserveIn(share), reserveImport: reserveIn(importShare) })
    })
  )
}
