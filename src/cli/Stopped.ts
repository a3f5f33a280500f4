import { Data } from "effect"

/** A command could not do what it was asked; the message says why, and what to do about it. */
export class Stopped extends Data.TaggedError("Stopped")<{ readonly message: string }> {}
