import { SchemaIssue } from "effect"
import { pointerTo, shorten } from "../../domain/json/JsonIssue.ts"
import type { FieldIssue } from "../../domain/Problem.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

// Both echo the sender's text, and one body can have very many faults.
const maxIssues = 20
const maxMessage = 300

const tokenOf = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}

const sentence = (message: string): string => {
  const text = message.replace(/\.$/, "").replace(/, got .*$/s, "")
  if (text.startsWith("Unexpected key")) return "is not known here"
  if (text.startsWith("Missing key")) return "is required"
  return text.replace(/^Expected/, "must be")
}

/** The places where a value does not fit a schema, as JSON Pointers with a few words each; the first 20 of them. */
export const fieldIssues = (issue: SchemaIssue.Issue, at: string): ReadonlyArray<FieldIssue> =>
  format(issue)
    .issues.slice(0, maxIssues)
    .map(({ message, path }) => ({
      path: at + pointerTo((path ?? []).map(tokenOf)),
      message: shorten(sentence(message), maxMessage)
    }))
