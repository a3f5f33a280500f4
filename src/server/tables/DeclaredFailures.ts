import { Effect } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import type { WriteFailure } from "./EvaluateWrites.ts"

type Failure = WriteFailure | Unavailable

/** The failures with these tags. */
export type Failures<Tag extends Failure["_tag"]> = Extract<Failure, { readonly _tag: Tag }>

/** Lets the failures that an operation declares through. Whatever else came up would be our own fault. */
export const failingWith =
  <Tag extends Failure["_tag"]>(tags: ReadonlyArray<Tag>) =>
  <A, R>(effect: Effect.Effect<A, Failure, R>): Effect.Effect<A, Failures<Tag>, R> => {
    const declared: ReadonlySet<string> = new Set(tags)
    const isDeclared = (failure: Failure): failure is Failures<Tag> => declared.has(failure._tag)
    return Effect.catch(effect, (failure): Effect.Effect<never, Failures<Tag>> =>
      isDeclared(failure) ? Effect.fail(failure) : Effect.die(failure)
    )
  }
