import { InvalidRequest, type FieldIssue } from "./Problem.ts"

/**
 * What is said of one place of a request: of a JSON Pointer into the body, or of a parameter's name and a pointer into its
 * value, as in `filter/age`.
 */
export const fieldIssue = (place: string, message: string): FieldIssue => {
  if (place === "" || place.startsWith("/")) return { path: place, message }
  const [parameter = "", ...tokens] = place.split("/")
  return tokens.length === 0 ? { parameter, message } : { parameter, path: `/${tokens.join("/")}`, message }
}

/** The refusal of a request for these places of it; the first is told in words. A path that is empty is the body. */
export const invalidPlaces = (errors: ReadonlyArray<FieldIssue>): InvalidRequest => {
  const first = errors[0]
  const place = `${first?.parameter ?? ""}${first?.path ?? ""}`
  return new InvalidRequest({
    detail:
      first === undefined ? "The request is not valid." : `${place === "" ? "The body" : place} ${first.message}.`,
    errors: [...errors]
  })
}

/** The refusal of a request for one place of it, as {@link fieldIssue} names it. */
export const invalid = (place: string, message: string): InvalidRequest => invalidPlaces([fieldIssue(place, message)])
