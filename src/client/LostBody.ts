import { missingFilter } from "../domain/MissingFilter.ts"
import type { FieldIssue } from "./AgentMemoryError.ts"

/** Longer addresses are refused by many proxies (RFC 9110 section 4.1 asks for 8,000 bytes); in bytes as it is encoded. */
const longestParameter = 8192

/**
 * Whether a delete that was refused for these places is sent again with its filter in the address. A proxy kept its body
 * from the service then: DELETE is the one method whose body RFC 9110 section 9.3.5 lets them drop. Every other refusal
 * stands, since addresses are logged where bodies are not.
 */
export const lostItsBody = (errors: ReadonlyArray<FieldIssue> = [], filter: string): boolean =>
  errors.some(({ message, path }) => path === missingFilter.path && message === missingFilter.message) &&
  new URLSearchParams({ filter }).toString().length < longestParameter
