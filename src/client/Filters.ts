import { AgentMemoryError } from "./AgentMemoryError.ts"
import type { Filter } from "./Types.ts"

/**
 * Refuses a filter whose value is undefined, which JSON cannot say: without that field it would match more rows than
 * was meant, and delete them.
 */
export const checkedFilter = (filter: Filter): Filter => {
  // In JavaScript nothing else says so.
  if (typeof filter !== "object" || filter === null) {
    throw new AgentMemoryError({
      code: "invalid_request",
      detail: "There is no filter.",
      hint: "Pass an object of fields with the values they must have, for example { done: true }."
    })
  }
  const missing = Object.entries(filter).find(([, value]) => value === undefined)
  if (missing === undefined) return filter
  const message = "is undefined; leave the field out, or compare with null"
  throw new AgentMemoryError({
    code: "invalid_request",
    detail: `The filter's field ${JSON.stringify(missing[0])} ${message}.`,
    errors: [{ path: `/filter/${missing[0]}`, message }]
  })
}
