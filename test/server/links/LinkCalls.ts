import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount } from "../../support/TestService.ts"
import { jsonOf, wire, type WireAnswer } from "../wire/Wire.ts"

/** The addresses that a link answers with, as paths. */
interface MadeLinks {
  readonly view: string
  readonly download: string
  readonly editable: boolean
  readonly expires_at: string
}

/** Makes links of a kind (`row`, `text_field` or `query`). */
export const makeLinks = Effect.fnUntraced(function* (key: string, kind: string, body: object) {
  const answer = yield* wire("POST", `/v1/_${kind}_links`, { key, body: JSON.stringify(body) })
  assert.strictEqual(answer.status, 200, answer.text)
  const made = jsonOf<{ viewer_url: string; download_url: string; editable: boolean; expires_at: string }>(answer)
  const links: MadeLinks = {
    view: new URL(made.viewer_url).pathname,
    download: new URL(made.download_url).pathname,
    editable: made.editable,
    expires_at: made.expires_at
  }
  return links
})

/** A new account with one row of the table `notes`, given as JSON text, and links to it. */
export const withRow = Effect.fnUntraced(function* (row: string) {
  const { accountId, apiKey: key } = yield* newAccount
  const added = yield* wire("POST", "/v1/notes", { key, body: row })
  assert.strictEqual(added.status, 201, added.text)
  const { id, updated_at } = jsonOf<{ id: string; updated_at: string }>(added)
  const links = yield* makeLinks(key, "row", { table: "notes", id })
  const textLinks = (field: string) => makeLinks(key, "text_field", { table: "notes", id, field })
  return { accountId, key, id, updated_at, added: added.text, links, textLinks }
})

/** Saves through a viewer's address. */
export const save = (view: string, body: string) => wire("PATCH", view, { body })

/** Sends a form as a browser does from a page of the service. */
export const form = (
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {}
) =>
  wire("POST", path, {
    body: String(new URLSearchParams(fields)),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "sec-fetch-site": "same-origin",
      // What browsers send from a page that tells no address.
      origin: "null",
      ...headers
    }
  })

/** Restores a version by the button of a viewer's page. */
export const restore = (view: string, version: number | string = 1) =>
  form(`${view}/_restore`, { version: String(version) })

/** The time of the row that a viewer's page would save. */
export const shownTime = Effect.fnUntraced(function* (view: string) {
  return /name="updated_at" value="([^"]*)"/.exec((yield* wire("GET", view)).text)![1]!
})

/** How many versions the row has. */
export const versionCount = Effect.fnUntraced(function* (key: string, id: string) {
  const answer = yield* wire("GET", `/v1/notes/versions?id=${id}`, { key })
  return jsonOf<{ versions: ReadonlyArray<unknown> }>(answer).versions.length
})

/** The text that a page shows, with its entities undone. */
export const shownBy = ({ text }: WireAnswer): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
