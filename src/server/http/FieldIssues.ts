import { SchemaIssue, type SchemaAST } from "effect"
import { pointerTo, shorten } from "../../domain/json/JsonIssue.ts"
import type { FieldIssue } from "../../domain/Problem.ts"

// Both echo the sender's text, and one body can have very many faults.
const maxIssues = 20
const maxMessage = 300

const tokenOf = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}

const types: Partial<Record<SchemaAST.AST["_tag"], string>> = {
  String: "must be a string",
  Number: "must be a number",
  Boolean: "must be true or false",
  Arrays: "must be an array",
  Objects: "must be a JSON object",
  Declaration: "must be a JSON value"
}

const unknownMember = (ast: SchemaAST.AST): string => {
  const known = ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []
  return known.length === 0 ? "is not known here" : `is not known here; known are ${known.join(", ")}`
}

/** What a number must be, where its schema says more of it than that it is one. */
const numberMessage = ({ checks }: SchemaAST.AST): string | undefined => {
  const messages = (checks ?? []).map(({ annotations }) => annotations?.["message"])
  const message = messages.findLast((message) => typeof message === "string")
  return message?.replace(/^must be /, "must be a number: ")
}

const bodyType = (ast: SchemaAST.AST): string | undefined =>
  (ast._tag === "Number" ? numberMessage(ast) : undefined) ?? types[ast._tag]

/** Schemas whose refusal these words do not fit say it themselves, in a `message` annotation. */
const leafMessage =
  (wrongType: (ast: SchemaAST.AST) => string | undefined): SchemaIssue.LeafHook =>
  (issue) => {
    switch (issue._tag) {
      case "MissingKey":
        return "is required"
      case "UnexpectedKey":
        return unknownMember(issue.ast)
      case "InvalidType":
        return wrongType(issue.ast) ?? SchemaIssue.defaultLeafHook(issue)
      default:
        return SchemaIssue.defaultLeafHook(issue)
    }
  }

const bodyFormat = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: leafMessage(bodyType) })

// What comes as a parameter or header is text, unless it comes several times.
const parameterFormat = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: leafMessage(() => "must be given once") })

/**
 * The places where a value does not fit a schema, with a few words each; the first 20 of them. A place is a JSON Pointer
 * into the body, or the name of a parameter or header.
 */
export const fieldIssues = (issue: SchemaIssue.Issue, part: "body" | "parameters"): ReadonlyArray<FieldIssue> =>
  (part === "body" ? bodyFormat : parameterFormat)(issue)
    .issues.slice(0, maxIssues)
    .map(({ message, path }) => {
      const tokens = (path ?? []).map(tokenOf)
      const place = part === "body" ? { path: pointerTo(tokens) } : { parameter: shorten(String(tokens[0]), 100) }
      return { ...place, message: shorten(message, maxMessage) }
    })
