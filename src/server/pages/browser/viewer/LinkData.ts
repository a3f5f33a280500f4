import type { JsonText } from "../../../../domain/json/JsonText.ts"
import { parseEnvelope, type EnvelopeShape } from "../../../../domain/json/ParseEnvelope.ts"

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

export interface QueryLink extends Link {
  readonly kind: "query"
  readonly limit: number
  readonly rows: ReadonlyArray<JsonText>
  readonly has_more: boolean
}

export type EditableLink = RowLink | TextLink
export type LinkData = EditableLink | QueryLink

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
export interface Problem {
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

const data = { row: text, rows: array(text) }
const shape = object({ ...data, current: object(data), versions: array(object({ row: text })) })

/** Reads an answer of the service with each row as its exact text; undefined where it is not JSON. */
export const readAnswer = (body: string): unknown => parseEnvelope(body, shape).value
