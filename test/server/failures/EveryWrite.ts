import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { bodyOf, request, type BaseUrl } from "../../support/TestService.ts"

/** What the writes are about: rows of the table `notes` that an account has, and one that it had. */
export interface Known {
  readonly id: string
  readonly updatedAt: string
  /** A row that has as many versions as it may, with the title `kept`. */
  readonly edited: string
  readonly gone: string
}

/** What a test sends: by key, by the token of a connection, or with a link. */
export interface Sent {
  /** Where to; what the path must name and each account has another of is made with its key. */
  readonly path: string | ((key: string) => Effect.Effect<string, never, BaseUrl>)
  readonly method?: "POST" | "PATCH" | "DELETE"
  readonly body?: string
  /** Whether it may be sent again with the same Idempotency-Key; without one only if it had no effect. */
  readonly repeatable: boolean
  /** Whether it does nothing where it was done already, by what it says. */
  readonly isOnce?: true
}

const ask = Effect.fnUntraced(function* <A>(key: string, method: string, path: string, body?: object) {
  const answer = yield* request(method, `/v1/${path}`, { key, body: body && JSON.stringify(body) })
  assert.isBelow(answer.status, 300, answer.text)
  return bodyOf<A>(answer)
})

const ownKey = (key: string) =>
  Effect.map(ask<{ id: string }>(key, "POST", "_keys", { name: "another" }), ({ id }) => `/v1/_keys/${id}`)

const ownConnection = (key: string) =>
  Effect.map(
    ask<{ connections: ReadonlyArray<{ id: string }> }>(key, "GET", "_connections"),
    ({ connections }) => `/v1/_connections/${connections[0]!.id}`
  )

const ownLink =
  (kind: "row" | "text_field", to: object, below = "") =>
  (key: string) =>
    Effect.map(
      ask<{ viewer_url: string }>(key, "POST", `_${kind}_links`, { table: "notes", ...to }),
      ({ viewer_url }) => `${new URL(viewer_url).pathname}${below}`
    )

const call = (tool: string, args: object): Sent => ({
  path: "/mcp",
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } }),
  repeatable: "idempotencyKey" in args
})

/** Writes of rows, as REST takes them and as tools do. */
const rowWrites = ({ gone, id }: Known) => {
  const data: Record<string, readonly [path: string, tool: string, args: Record<string, unknown>]> = {
    add: ["", "add", { row: { n: 4 } }],
    "upsert of a new row": ["/upsert", "upsert", { key: ["n"], row: { n: 5 } }],
    "upsert of a row": ["/upsert", "upsert", { key: ["n"], row: { n: 1, m: 1 } }],
    update_row: ["/update_row", "update_row", { id, patch: { m: 2 } }],
    update_where: ["/update_where", "update_where", { filter: { kind: "a" }, patch: { m: 3 }, allowMultiple: true }],
    delete: ["", "delete", { filter: { kind: "a" } }],
    restore: ["/restore", "restore", { id: gone, version: 1 }],
    batch: [
      "/batch",
      "batch",
      {
        operations: [
          { action: "add", row: { n: 6 }, idempotencyKey: "in the batch" },
          { action: "update_row", id, patch: { m: 4 } },
          { action: "delete", filter: { n: 3 } }
        ]
      }
    ]
  }
  const sent: Record<string, Sent> = {}
  for (const [name, [path, tool, args]] of Object.entries(data)) {
    const method = name === "delete" ? "DELETE" : "POST"
    const body = JSON.stringify(name === "add" ? args["row"] : args)
    sent[name] = { path: `/v1/notes${path}`, method, body, repeatable: true }
    sent[`the tool ${name}`] = call(tool, { table: "notes", ...args, idempotencyKey: "once" })
  }
  return sent
}

/** Memories: new ones, and one in the place of a row that has their key. */
const memories = () => {
  const sent: Record<string, Sent> = {}
  const memory = { title: "T", content: "c", idempotencyKey: "once" }
  const resource = { ...memory, url: "https://example.com" }
  for (const type of ["resource", "code", "markdown", "command", "config"]) {
    sent[`the tool remember_${type}`] = call(`remember_${type}`, type === "resource" ? resource : memory)
  }
  const keyed = { type: "code", ...memory, key: ["title"] }
  return {
    ...sent,
    "the tool remember": call("remember", { type: "resource", ...resource }),
    "the tool remember of a new key": call("remember", keyed),
    "the tool remember of a key": call("remember", { ...keyed, title: "kept", table: "notes" })
  }
}

/** Making links, and what people do with them. */
const linkWrites = ({ edited, id, updatedAt }: Known) => {
  const made = { row: { id }, text_field: { id, field: "kind" }, query: { filter: { kind: "a" }, sort: "n" } }
  const sent: Record<string, Sent> = {}
  for (const [kind, to] of Object.entries(made)) {
    const body = JSON.stringify({ table: "notes", ...to })
    sent[`creation of a ${kind} link`] = { path: `/v1/_${kind}_links`, body, repeatable: false }
  }
  const saved = (fields: object) => JSON.stringify({ updated_at: updatedAt, ...fields })
  const changes: Record<string, Sent> = {
    "saving a row through a link": {
      path: ownLink("row", { id }),
      method: "PATCH",
      body: saved({ row: { n: 1, kind: "saved" } }),
      repeatable: false,
      isOnce: true
    },
    "saving fields through a link": {
      path: ownLink("row", { id }),
      method: "PATCH",
      body: saved({ patch: { m: 5 } }),
      repeatable: false,
      isOnce: true
    },
    "saving a text through a link": {
      path: ownLink("text_field", { id, field: "kind" }),
      method: "PATCH",
      body: saved({ patch: { kind: "saved" } }),
      repeatable: false,
      isOnce: true
    },
    "restoring a row through a link": {
      path: ownLink("row", { id: edited }, "/_restore"),
      body: "version=1",
      repeatable: false
    },
    "restoring a text through a link": {
      path: ownLink("text_field", { id: edited, field: "title" }, "/_restore"),
      body: "version=1",
      repeatable: false
    }
  }
  return {
    ...sent,
    "the tool open_row": call("open_row", { table: "notes", id }),
    "the tool open_text_field": call("open_text_field", { table: "notes", ...made.text_field }),
    "the tool query with includeLink": call("query", { table: "notes", ...made.query, includeLink: true }),
    ...changes
  }
}

/** Every write, by its name: as REST takes it, as a tool does, and as the page of a link. */
export const writesOf = (known: Known): Readonly<Record<string, Sent>> => {
  // More than a mebibyte, so that it is stored in several statements.
  const brought = Array.from({ length: 20 }, (_, index) => ({
    id: `01a222ea-b419-7405-af29-5b1f52e0ac${10 + index}`,
    created_at: "2026-11-01T00:00:00.000Z",
    updated_at: "2026-11-02T00:00:00.000Z",
    text: "x".repeat(60_000)
  }))
  return {
    ...rowWrites(known),
    ...memories(),
    // The title of `edited` goes back.
    "an undo": { path: "/v1/_undo", body: '{"change":7}', repeatable: true },
    "undo by the tool restore": call("restore", { change: 7, idempotencyKey: "once" }),
    "a delete for good": {
      path: "/v1/notes",
      method: "DELETE",
      body: '{"filter":{"kind":{"in":["a","gone"]}},"forever":true}',
      repeatable: true
    },
    "a delete of a whole table": { path: "/v1/notes", method: "DELETE", body: '{"all":true}', repeatable: true },
    "an import": {
      path: "/v1/_import",
      body: JSON.stringify({ tables: { brought } }),
      repeatable: true
    },
    "creation of a key": { path: "/v1/_keys", body: '{"name":"another"}', repeatable: false },
    "revocation of a key": { path: ownKey, method: "DELETE", repeatable: false, isOnce: true },
    "revocation of a connection": { path: ownConnection, method: "DELETE", repeatable: false, isOnce: true },
    ...linkWrites(known)
  }
}

export const writeNames = Object.keys(writesOf({ id: "", updatedAt: "", edited: "", gone: "" }))
