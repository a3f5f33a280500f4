import { Effect } from "effect"
import { JsonText } from "../../src/domain/json/JsonText.ts"
import { members, objectOf, readItems } from "../../src/domain/json/Members.ts"
import { systemFields } from "../../src/domain/Row.ts"
import { memberTexts } from "../../src/domain/RowMerge.ts"
import { BaseUrl, bodyOf, newAccount, request } from "./TestService.ts"

/** The members of a row text that the service does not set, as an object. */
const ownFields = (row: string): JsonText =>
  objectOf(members(JsonText.trusted(row)).filter(({ name }) => !systemFields.has(name)))

/** A stored row of a new account. */
export interface Stored {
  readonly key: string
  readonly id: string
}

const send = Effect.fnUntraced(function* (key: string, path: string, body: string) {
  const answer = yield* request("POST", `/v1/${path}`, { key, body })
  if (answer.status >= 300) return yield* Effect.die(`${path}: ${answer.status} ${answer.text}`)
  return answer
})

/** Stores a row, given as JSON text, in the table `notes`. */
export const store = Effect.fnUntraced(function* (row: string) {
  const { apiKey: key } = yield* newAccount
  const { id } = bodyOf<{ id: string }>(yield* send(key, "notes", row))
  return { key, id } satisfies Stored
})

const linkAddress = Effect.fnUntraced(function* (key: string, path: string, body: unknown) {
  const { url } = yield* BaseUrl
  const answer = yield* send(key, path, JSON.stringify(body))
  return url + new URL(bodyOf<{ viewer_url: string }>(answer).viewer_url, url).pathname
})

/** The address of a new viewer of the row. */
export const rowLink = ({ id, key }: Stored) => linkAddress(key, "_row_links", { table: "notes", id })

/** The address of a new viewer of one field of the row. */
export const textLink = ({ id, key }: Stored, field: string) =>
  linkAddress(key, "_text_field_links", { table: "notes", id, field })

/** The address of a new viewer of a query of the table `notes`. */
export const queryLink = (key: string, query: object = {}) =>
  linkAddress(key, "_query_links", { table: "notes", ...query })

/** Changes fields of the row as an agent would, given as JSON text. */
export const patchRow = ({ id, key }: Stored, patch: string) =>
  send(key, "notes/update_row", `{"id":"${id}","patch":${patch}}`)

/** The stored row's own fields as exact JSON text. */
export const storedText = Effect.fnUntraced(function* ({ id, key }: Stored) {
  const filter = encodeURIComponent(JSON.stringify({ id }))
  const answer = yield* request("GET", `/v1/notes?filter=${filter}`, { key })
  return ownFields(readItems(memberTexts(answer.text).get("rows") ?? "[]")[0] ?? "{}").text
})

/** How many archived versions the row has. */
export const versionCount = Effect.fnUntraced(function* ({ id, key }: Stored) {
  const answer = yield* request("GET", `/v1/notes/versions?id=${id}`, { key })
  return bodyOf<{ versions: ReadonlyArray<unknown> }>(answer).versions.length
})
