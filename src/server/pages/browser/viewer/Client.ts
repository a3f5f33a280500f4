import { readAnswer, type EditableLink, type LinkData, type Problem, type Version } from "./LinkData.ts"

/** What can come of a request besides the answer that was asked for. */
export type Failure =
  | { readonly kind: "unreachable" }
  | { readonly kind: "over"; readonly problem: Problem }
  | { readonly kind: "wait"; readonly status: number; readonly seconds: number }
  | { readonly kind: "conflict"; readonly current: EditableLink }
  | { readonly kind: "refused"; readonly problem: Problem }

export type Answer<A> = { readonly kind: "ok"; readonly value: A } | Failure

// The token stands in the address of the page, so all of a link's addresses begin with it.
const link = location.pathname.replace(/\/$/, "")

/** The address of the link's content as a file. */
export const downloadAddress = `${link}/download`

const request = async <A>(path: string, init?: RequestInit): Promise<Answer<A>> => {
  let response: Response
  let body: string
  try {
    response = await fetch(link + path, { ...init, cache: "no-store", signal: AbortSignal.timeout(30_000) })
    body = await response.text()
  } catch {
    return { kind: "unreachable" }
  }
  const answer = readAnswer(body)
  if (response.ok) return answer === undefined ? { kind: "unreachable" } : { kind: "ok", value: answer as A }
  return failure(response, (typeof answer === "object" && answer !== null ? answer : {}) as Problem)
}

const failure = (response: Response, problem: Problem): Failure => {
  const { status } = response
  if (status === 409 && problem.current !== undefined) return { kind: "conflict", current: problem.current }
  if (status === 404 && problem.code === "not_found") return { kind: "over", problem }
  if (status === 429 || status >= 500) {
    const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10)
    return { kind: "wait", status, seconds: Number.isFinite(seconds) ? seconds : 5 }
  }
  return { kind: "refused", problem }
}

const sending = (method: string, body: string): RequestInit => ({
  method,
  body,
  headers: { "content-type": "application/json" }
})

export const load = (): Promise<Answer<LinkData>> => request("/data")

/** Sends a `{updated_at, patch}` or `{updated_at, row}`. */
export const save = (body: string): Promise<Answer<EditableLink>> => request("", sending("PATCH", body))

export const versions = (): Promise<Answer<{ readonly versions: ReadonlyArray<Version> }>> => request("/versions")

export const restore = (version: number): Promise<Answer<EditableLink>> =>
  request("/restore", sending("POST", `{"version":${version}}`))
