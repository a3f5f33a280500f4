import { Effect, Semaphore } from "effect"

/** Work that pauses now and then, so that others may use the processor. */
export type Turns<A> = Generator<void, A, void>

/** How many characters are worked on before others have their turn. */
const turn = 1_000_000

/** The same before the first pause: works that begin in one moment do not wait for each other, and may be many. */
const firstTurn = 100_000

/** Tells work by the characters it has gone through when to pause. */
export class Pace {
  /** How many characters were gone through so far. */
  done = 0
  private left = firstTurn

  /** Counts characters. Whoever calls this is to pause soon. */
  count(characters: number): void {
    this.done += characters
    this.left -= characters
  }

  get isDue(): boolean {
    return this.left <= 0
  }

  *pause(): Turns<void> {
    if (this.left > 0) return
    this.left = turn
    yield
  }

  *worked(characters: number): Turns<void> {
    this.count(characters)
    yield* this.pause()
  }
}

/** Whose turn it is: between any two turns, of whichever works, the process answers others. */
const baton = Semaphore.makeUnsafe(1)

/** Does the work, and lets others in where it pauses. */
export const inTurns = <A>(work: Turns<A>): Effect.Effect<A> => {
  const step: Effect.Effect<A> = Effect.suspend(() => ended(work.next()))
  const later = Effect.sync(() => work.next()).pipe((next) => baton.withPermit(Effect.andThen(Effect.yieldNow, next)))
  const ended = ({ done, value }: IteratorResult<void, A>): Effect.Effect<A> =>
    done === true ? Effect.succeed(value) : Effect.flatMap(later, ended)
  return step
}
