import { Context, Effect, Layer, Semaphore } from "effect"
import { Statement } from "effect/sql"
import { DatabaseUrl, poolOf } from "./Database.ts"
import { prepare, readingsOf, tried, type Reading } from "./Plans.ts"
import { isOf, showing, templates } from "./Statements.ts"

interface StatementReading extends Reading {
  /** As `Template.name`. */
  readonly statement: string
}

/**
 * What the statements of the service read. Each is tried beforehand by one session that goes on with the plans that it
 * made first, as those of the service do, until the statistics change.
 */
export class Readings extends Context.Service<
  Readings,
  {
    readonly during: <A, E, R>(
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<{ readonly value: A; readonly readings: ReadonlyArray<StatementReading> }, E, R>
  }
>()("agent-memory/test/support/Readings") {}

export const ReadingsLayer = Layer.effectContext(
  Effect.gen(function* () {
    const pool = yield* poolOf((yield* DatabaseUrl).url)
    const session = yield* pool.reserve
    const oneByOne = Semaphore.makeUnsafe(1)
    const kept = new Map<string, string>()
    let readings: Array<StatementReading> | undefined

    const look = Effect.fnUntraced(function* (text: string, parameters: ReadonlyArray<unknown>) {
      const statement = templates.find((template) => isOf(template, text))?.name
      if (statement === undefined) return
      const name = kept.get(text) ?? `kept_${kept.size}`
      if (!kept.has(text)) yield* prepare(session, name, text)
      kept.set(text, name)
      const plans = yield* tried(session, name, parameters)
      readings?.push(...plans.flatMap(readingsOf).map((reading) => ({ statement, ...reading })))
    })

    const transformer = showing((text, parameters) =>
      readings === undefined ? Effect.void : Effect.orDie(oneByOne.withPermit(look(text, parameters)))
    )
    const during = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        const own: Array<StatementReading> = []
        readings = own
        return effect.pipe(
          Effect.map((value) => ({ value, readings: own })),
          Effect.ensuring(Effect.sync(() => void (readings = undefined)))
        )
      })
    return Context.make(Readings, { during }).pipe(Context.add(Statement.CurrentTransformer, transformer))
  })
)
