import { AgentMemoryError } from "./AgentMemoryError.ts"
import { jsonOf } from "./ExactRows.ts"
import type { AnyRow, Edit } from "./Types.ts"

/** What an update changes, while its values are not JSON yet. */
export interface SentChanges {
  readonly patch?: AnyRow | undefined
  readonly edits?: ReadonlyArray<Edit> | undefined
}

/** A patch and edits as they are sent: exact JSON where a value is any. */
export const exactChanges = <Others extends object>({ edits, patch, ...others }: SentChanges & Others) => ({
  ...others,
  patch: patch && jsonOf(patch),
  edits: edits?.map((edit) =>
    edit.op === "increment"
      ? { ...edit, by: jsonOf(edit.by) }
      : edit.op === "push"
        ? { ...edit, value: jsonOf(edit.value) }
        : edit
  )
})

/** The header that guards a delete. Throws an `AgentMemoryError` (`invalid_request`) for what no header can hold. */
export const guardHeaders = (ifUpdatedAt: string | undefined): Readonly<Record<string, string>> => {
  if (ifUpdatedAt === undefined) return {}
  const tag = `"${ifUpdatedAt}"`
  if (/^"[\x21\x23-\x7e]+"$/.test(tag)) return { "if-match": tag }
  // A header cannot hold some of these, and the failure would look like one of the network.
  const message = "must be the updated_at of a row"
  throw new AgentMemoryError({
    code: "invalid_request",
    detail: `ifUpdatedAt ${message}.`,
    errors: [{ parameter: "if-match", message }]
  })
}
