import { Data } from "effect"

/** A client as people are asked about it and as its requests are checked. */
export interface Client {
  readonly id: string
  /** What it calls itself, which anybody may. */
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  /** Whether a document at its id describes it, so that the id's host vouches for it. */
  readonly isDocument: boolean
}

/** No client of this id is known; the detail says why, for the person at the browser. */
export class ClientUnknown extends Data.TaggedError("ClientUnknown")<{ readonly detail: string }> {}
