import { Effect } from "effect"

/** Work that pauses now and then, so that others may use the processor. */
export type Turns<A> = Generator<void, A, void>

/** How many characters are worked on before others have their turn. */
const turn = 1_000_000

/** Tells work by the characters it has gone through when to pause. */
export class Pace {
  private since = 0;

  /** Pauses once enough was done since the last pause. */
  *worked(characters: number): Turns<void> {
    this.since += characters
    if (this.since < turn) return
    this.since = 0
    yield
  }
}

/** Does the work, and lets others in where it pauses. */
export const inTurns = <A>(work: Turns<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const { done, value } = work.next()
    return done === true ? Effect.succeed(value) : Effect.flatMap(Effect.yieldNow, () => inTurns(work))
  })
