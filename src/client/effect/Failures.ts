import { Data, type Effect, type Schema } from "effect"
import type { HttpApiClient, HttpApiEndpoint } from "effect/http-api"
import type { Api } from "../../api/Api.ts"

/** A row that its table's schema refuses: one to write, which has no id yet, or one that was read. */
export class InvalidRow extends Data.TaggedError("InvalidRow")<{
  readonly table: string
  readonly rowId: string | undefined
  readonly cause: Schema.SchemaError
}> {
  override get message(): string {
    const row = this.rowId === undefined ? "A row for" : `Row ${this.rowId} of`
    return `${row} table ${this.table} does not fit its schema: ${this.cause.message}`
  }
}

type Groups = (typeof Api)["groups"]

/**
 * What an operation of the contract can fail with: its own problems, by tag, and those of the connection. The names are
 * those of the contract's groups and endpoints: `FailureOf<"rows", "add">`.
 */
export type FailureOf<
  Group extends keyof Groups,
  Name extends keyof Groups[Group]["endpoints"]
> = Groups[Group]["endpoints"][Name] extends infer Endpoint extends HttpApiEndpoint.ConstraintRequest
  ? Effect.Error<HttpApiClient.Client.MethodReturn<Endpoint, never, never, "decoded-only", never>>
  : never
