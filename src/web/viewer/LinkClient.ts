import type { JsonText } from "../../domain/json/JsonText.ts"
import { parseEnvelope, type EnvelopeShape } from "../../domain/json/ParseEnvelope.ts"

interface Link {
  readonly table: string
  readonly expires_at: string
  readonly server_time: string
}

interface RowLink extends Link {
  readonly kind: "row"
  readonly id: string
  readonly row: JsonText
  readonly limits: { readonly row_bytes: number }
}

export interface TextLink extends Link {
  readonly kind: "text"
  readonly id: string
  readonly field: string
  readonly value: string
  readonly updated_at: string
  readonly language: string | null
  /** The row's size without this field's value, in bytes. */
  readonly other_bytes: number
  readonly limits: { readonly row_bytes: number }
}

export type EditableLink = RowLink | TextLink

export interface Version {
  readonly version: number
  readonly operation: string
  readonly changed_by: { readonly kind: string; readonly name: string }
  readonly archived_at: string
  /** Of row links. */
  readonly row?: JsonText
  /** Of text links. */
  readonly value?: string
}

/** An RFC 9457 problem as the service sends it. */
interface Problem {
  readonly code?: string
  readonly title?: string
  readonly detail?: string
  readonly errors?: ReadonlyArray<{ readonly message: string }>
  readonly current?: EditableLink
}

const text: EnvelopeShape = { kind: "text" }
const object = (members: Readonly<Record<string, EnvelopeShape>>): EnvelopeShape => ({
  kind: "object",
  members: new Map(Object.entries(members))
})
const array = (items: EnvelopeShape): EnvelopeShape => ({ kind: "array", items })

const data = { row: text }
const shape = object({ ...data, current: object(data), versions: array(object({ row: text })) })

/** Reads a response of the service with each row as its exact text; undefined where it is not JSON. */
const readJson = (body: string): unknown => parseEnvelope(body, shape).value

/** A request that did not succeed. */
export type Failure =
  | { readonly kind: "unreachable" }
  | { readonly kind: "expired" }
  | { readonly kind: "wait"; readonly status: number; readonly seconds: number }
  | { readonly kind: "conflict"; readonly current: EditableLink }
  | { readonly kind: "refused"; readonly problem: Problem }

export type Result<A> = { readonly kind: "ok"; readonly value: A } | Failure

// The page's address contains the token, so all of the link's addresses begin with it.
const link = location.pathname.replace(/\/$/, "")

/** The address of the link's content as a file. */
export const downloadAddress = `${link}/download`

const request = async <A>(path: string, init?: RequestInit): Promise<Result<A>> => {
  let response: Response
  let body: string
  try {
    response = await fetch(link + path, { ...init, cache: "no-store", signal: AbortSignal.timeout(30_000) })
    body = await response.text()
  } catch {
    return { kind: "unreachable" }
  }
  const value = readJson(body)
  if (response.ok) return value === undefined ? { kind: "unreachable" } : { kind: "ok", value: value as A }
  return failure(response, (typeof value === "object" && value !== null ? value : {}) as Problem)
}

const failure = (response: Response, problem: Problem): Failure => {
  const { status } = response
  if (status === 409 && problem.current !== undefined) return { kind: "conflict", current: problem.current }
  if (status === 404 && problem.code === "not_found") return { kind: "expired" }
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

export const load = (): Promise<Result<EditableLink>> => request("/data")

/** Sends a `{updated_at, patch}` or `{updated_at, row}`. */
export const save = (body: string): Promise<Result<EditableLink>> => request("", sending("PATCH", body))

export const versions = (): Promise<Result<{ readonly versions: ReadonlyArray<Version> }>> => request("/versions")

export const restore = (version: number): Promise<Result<EditableLink>> =>
  request("/restore", sending("POST", `{"version":${version}}`))

const seconds = (count: number): string => (count === 1 ? "1 second" : `${count} seconds`)

/** Says why a request failed, and what to do. */
export const explain = (failure: Failure): string => {
  switch (failure.kind) {
    case "unreachable":
      return "The service can't be reached. Check your connection, then try again."
    case "wait":
      return waiting(failure)
    case "expired":
      return "This link has expired."
    case "conflict":
      return "The row was changed in the meantime."
    case "refused":
      return refused(failure)
  }
}

const waiting = ({ seconds: left, status }: Extract<Failure, { readonly kind: "wait" }>): string =>
  status === 429
    ? `Too many requests through this link. Try again in ${seconds(left)}.`
    : `The service is busy or restarting. Try again in ${seconds(left)}.`

const refused = ({ problem }: Extract<Failure, { readonly kind: "refused" }>): string => {
  const errors = (problem.errors ?? []).slice(0, 3).map(({ message }) => message)
  return errors.length > 0 ? errors.join(" ") : (problem.detail ?? problem.title ?? "The service refused this.")
}
