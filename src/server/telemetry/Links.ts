import { Context, Effect, Exit, Tracer } from "effect"

/** Links the current span to those that others were in, for work that is done for all of them at once. */
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
