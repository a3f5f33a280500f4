import { print } from "../domain/json/Print.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"

/** A value's exact JSON. */
export const jsonOf = (value: unknown): string => {
  try {
    return print(value)
  } catch (cause) {
    throw new AgentMemoryError({
      code: "invalid_request",
      detail: `What was passed cannot be sent as JSON: ${cause instanceof Error ? cause.message : String(cause)}.`,
      hint: "Pass plain objects, arrays, strings, finite numbers, bigints, booleans and null; a Date as its toISOString().",
      cause
    })
  }
}
