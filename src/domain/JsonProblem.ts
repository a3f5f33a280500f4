import type { JsonIssue } from "./json/JsonIssue.ts"
import { DuplicateField, fieldIssue, invalid, InvalidJson, InvalidRequest, TooDeep } from "./Problem.ts"

export type JsonProblem = DuplicateField | InvalidJson | InvalidRequest | TooDeep

/** The error for text that is not acceptable JSON. `at` names the field of the request that has the text. */
export const jsonProblem = (issue: JsonIssue, at: string): JsonProblem => {
  const members = { detail: issue.message, errors: [fieldIssue(at + issue.pointer, issue.message)] }
  switch (issue.code) {
    case "invalid_json":
      return new InvalidJson(members)
    case "duplicate_field":
      return new DuplicateField(members)
    case "too_deep":
      return new TooDeep(members)
    case "too_many":
      return invalid(at + issue.pointer, issue.message)
    case "invalid_request":
      return new InvalidRequest(members)
  }
}
