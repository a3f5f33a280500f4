import { Context, Effect, Exit, References, Tracer } from "effect"

type Any = Effect.Effect<unknown, unknown, unknown>
type Body = (...args: ReadonlyArray<unknown>) => Any | Generator<Any, unknown, never>
type Step = (effect: Any, ...args: ReadonlyArray<unknown>) => Any

const inSpan = (name: string, effect: Any): Any =>
  Effect.withFiber((fiber) =>
    fiber.getRef(References.TracerEnabled) ? Effect.withSpan(effect, name, { captureStackTrace: false }) : effect
  )

const running = (made: ReturnType<Body>): Any => ("next" in made ? Effect.gen(() => made) : made)

/**
 * Like `Effect.fn`, makes functions whose calls are spans of this name. Without tracing a call costs little more than its
 * effect, whereas `Effect.fn` always captures the caller's stack.
 */
export const traced = (name: string): Effect.fn.Traced => {
  const make =
    (body: Body, ...steps: ReadonlyArray<Step>) =>
    (...args: ReadonlyArray<unknown>) => {
      const work = Effect.suspend(() => running(body(...args)))
      return inSpan(
        name,
        steps.reduce((effect, step) => step(effect, ...args), work)
      )
    }
  return make as unknown as Effect.fn.Traced
}

/** Links the current span to the spans of other callers, for work that is done for all of them together. */
export const linkCurrentSpan = (others: ReadonlyArray<Context.Context<never>>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const span = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
    if (span?._tag === "Span" && others.length > 0) {
      span.addLinks(
        others.flatMap((context) => {
          const other = Context.getOrUndefined(context, Tracer.ParentSpan)
          return other === undefined ? [] : [{ span: other, attributes: {} }]
        })
      )
    }
    return Exit.void
  })
