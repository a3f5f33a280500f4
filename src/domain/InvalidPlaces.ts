import { InvalidRequest, type FieldIssue } from "./Problem.ts"

/** The refusal of a request for these places of it; the first is told in words. A path that is empty is the body. */
export const invalidPlaces = (errors: ReadonlyArray<FieldIssue>): InvalidRequest => {
  const first = errors[0]
  const place = first?.path === "" ? "The body" : first?.path
  return new InvalidRequest({
    detail: first === undefined ? "The request is not valid." : `${place} ${first.message}.`,
    errors: [...errors]
  })
}

/** The refusal of a request for one place of it. */
export const invalid = (path: string, message: string): InvalidRequest => invalidPlaces([{ path, message }])
