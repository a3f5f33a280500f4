import { Effect, Schema } from "effect"

/** The embedded PostgreSQL cannot be used; `message` says why and what to do about it. */
export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()("EmbeddedPostgresError", {
  reason: Schema.Literals(["Held", "OtherMajor", "NoPrograms", "Unreachable", "Failed"]),
  message: Schema.String,
  /** The process that holds the data directory, when `reason` is `Held`. */
  holder: Schema.optionalKey(Schema.Int)
}) {}

const detailOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/** Runs a call into the operating system; `doing` completes the sentence "Could not ..." of its failure. */
export const attempt = <A>(doing: string, run: () => A): Effect.Effect<A, EmbeddedPostgresError> =>
  Effect.try({
    try: run,
    catch: (cause) => new EmbeddedPostgresError({ reason: "Failed", message: `Could not ${doing}: ${detailOf(cause)}` })
  })
