/** A request as method, path and body; `$id` stands for the id of a stored row, `$email` for the account's address, `$token` for a fresh sign-in token. */
export type Sample = readonly [method: string, path: string, body?: string]

/** An operation of the specification's section 4: its statuses, each with a request that brings it about. */
export interface Operation {
  readonly success: readonly [status: number, sample: Sample]
  /** By declared status. 401 and 429 of the operations under `/v1` are the same requests without a key, and too many. */
  readonly refusals: Readonly<Record<number, Sample>>
}

const tooLarge = `{"text":"${"x".repeat(65_536)}"}`

/** A guard that no row of today has. */
const outdated = '"ifUpdatedAt":"2000-01-01T00:00:00.000Z"'

/** A row as an export has it, with these fields of its own. */
const imported = (own: string) => {
  const head =
    '{"id":"01a21fbe-ea17-7524-a592-a12f985190ab","created_at":"2026-11-27T20:07:59.549Z","updated_at":"2026-11-27T20:07:59.549Z"'
  return own === "{}" ? `${head}}` : `${head},${own.slice(1)}`
}

const everyV1 = (success: Operation["success"], refusals: Operation["refusals"] = {}): Operation => ({
  success,
  refusals: { ...refusals, 401: success[1], 429: success[1] }
})

/**
 * The operations by their names in the contract. Before each request the account's table `notes` holds `{"n":1}` and
 * `{"n":2}`, both with `"kind":"a"`, and the first one has an archived version, of change 3.
 * The second one was changed twice since, by 4 and 5. The first change is no longer kept.
 */
export const operations: Readonly<Record<string, Operation>> = {
  "auth.magicLink": {
    success: [200, ["POST", "/auth/magic-link", '{"email":"ada@example.com"}']],
    refusals: {
      400: ["POST", "/auth/magic-link", '{"email":"nobody"}'],
      429: ["POST", "/auth/magic-link", '{"email":"many@example.com"}']
    }
  },
  "auth.verify": {
    success: [200, ["POST", "/auth/verify", '{"token":"$token"}']],
    refusals: {
      401: ["POST", "/auth/verify", '{"token":"unknown"}'],
      429: ["POST", "/auth/verify", '{"token":"unknown"}']
    }
  },
  "rows.query": everyV1([200, ["GET", "/v1/notes"]], { 400: ["GET", "/v1/notes?limit=0"] }),
  "rows.add": everyV1([201, ["POST", "/v1/notes", '{"n":3}']], {
    400: ["POST", "/v1/notes", "[]"],
    413: ["POST", "/v1/notes", tooLarge]
  }),
  "rows.delete": everyV1([200, ["DELETE", "/v1/notes", '{"filter":{"n":1}}']], {
    400: ["DELETE", "/v1/notes", '{"filter":{}}'],
    409: ["DELETE", "/v1/notes", `{"filter":{"n":1},${outdated}}`]
  }),
  "rows.upsert": everyV1([200, ["POST", "/v1/notes/upsert", '{"key":"n","row":{"n":1}}']], {
    400: ["POST", "/v1/notes/upsert", '{"key":"n","row":{"m":1}}'],
    409: ["POST", "/v1/notes/upsert", '{"key":"n","row":{"n":1},"ifUpdatedAt":null}']
  }),
  "rows.batch": everyV1([200, ["POST", "/v1/notes/batch", '{"operations":[{"action":"add","row":{}}]}']], {
    400: ["POST", "/v1/notes/batch", '{"operations":[]}'],
    404: ["POST", "/v1/notes/batch", '{"operations":[{"action":"update_row","id":"unknown","patch":{}}]}'],
    409: [
      "POST",
      "/v1/notes/batch",
      '{"operations":[{"action":"update_where","filter":{"kind":"a"},"patch":{"m":1}}]}'
    ],
    413: ["POST", "/v1/notes/batch", `{"operations":[{"action":"add","row":${tooLarge}}]}`]
  }),
  "rows.updateRow": everyV1([200, ["POST", "/v1/notes/update_row", '{"id":"$id","patch":{"m":1}}']], {
    400: ["POST", "/v1/notes/update_row", '{"id":"$id"}'],
    404: ["POST", "/v1/notes/update_row", '{"id":"unknown","patch":{"m":1}}'],
    409: ["POST", "/v1/notes/update_row", `{"id":"$id","patch":{"m":1},${outdated}}`]
  }),
  "rows.updateWhere": everyV1([200, ["POST", "/v1/notes/update_where", '{"filter":{"n":1},"patch":{"m":1}}']], {
    400: ["POST", "/v1/notes/update_where", '{"filter":{},"patch":{"m":1}}'],
    404: ["POST", "/v1/notes/update_where", '{"filter":{"n":9},"patch":{"m":1}}'],
    409: ["POST", "/v1/notes/update_where", '{"filter":{"kind":"a"},"patch":{"m":1}}']
  }),
  "rows.count": everyV1([200, ["GET", "/v1/notes/count"]], { 400: ["GET", "/v1/notes/count?filter=1"] }),
  "changes.list": everyV1([200, ["GET", "/v1/_changes"]], {
    400: ["GET", "/v1/_changes?since=-1"],
    410: ["GET", "/v1/_changes?since=0"]
  }),
  "changes.undo": everyV1([200, ["POST", "/v1/_undo", '{"change":3}']], {
    400: ["POST", "/v1/_undo", '{"change":0}'],
    404: ["POST", "/v1/_undo", '{"change":9}'],
    409: ["POST", "/v1/_undo", '{"change":4}'],
    413: ["POST", "/v1/_undo", `{"change":${" ".repeat(16_384)}1}`]
  }),
  "versions.deleted": everyV1([200, ["GET", "/v1/notes/deleted"]], { 400: ["GET", "/v1/notes/deleted?limit=0"] }),
  "versions.list": everyV1([200, ["GET", "/v1/notes/versions?id=$id"]], { 400: ["GET", "/v1/notes/versions"] }),
  "versions.restore": everyV1([200, ["POST", "/v1/notes/restore", '{"id":"$id","version":1}']], {
    400: ["POST", "/v1/notes/restore", '{"id":"$id","version":0}'],
    404: ["POST", "/v1/notes/restore", '{"id":"$id","version":2}'],
    409: ["POST", "/v1/notes/restore", `{"id":"$id","version":1,${outdated}}`]
  }),
  "tables.list": everyV1([200, ["GET", "/v1/_tables"]], { 400: ["GET", "/v1/_tables?a=1"] }),
  "tables.search": everyV1([200, ["GET", "/v1/_search?search=a"]], { 400: ["GET", "/v1/_search"] }),
  "tables.export": everyV1([200, ["GET", "/v1/_export"]], { 400: ["GET", "/v1/_export?a=1"] }),
  "tables.import": everyV1([200, ["POST", "/v1/_import", `{"tables":{"notes":[${imported("{}")}]}}`]], {
    400: ["POST", "/v1/_import", '{"tables":{"notes":[{}]}}'],
    413: ["POST", "/v1/_import", `{"tables":{"notes":[${imported(tooLarge)}]}}`]
  }),
  "tables.usage": everyV1([200, ["GET", "/v1/_usage"]], { 400: ["GET", "/v1/_usage?a=1"] }),
  "keys.list": everyV1([200, ["GET", "/v1/_keys"]], { 400: ["GET", "/v1/_keys?a=1"] }),
  "keys.create": everyV1([201, ["POST", "/v1/_keys", '{"name":"ci"}']], {
    400: ["POST", "/v1/_keys", '{"name":""}']
  }),
  "links.row": everyV1([200, ["POST", "/v1/_row_links", '{"table":"notes","id":"$id"}']], {
    400: ["POST", "/v1/_row_links", '{"table":"_notes","id":"$id"}'],
    404: ["POST", "/v1/_row_links", '{"table":"notes","id":"unknown"}']
  }),
  "links.textField": everyV1([200, ["POST", "/v1/_text_field_links", '{"table":"notes","id":"$id","field":"kind"}']], {
    400: ["POST", "/v1/_text_field_links", '{"table":"notes","id":"$id"}'],
    404: ["POST", "/v1/_text_field_links", '{"table":"notes","id":"$id","field":"unknown"}'],
    409: ["POST", "/v1/_text_field_links", '{"table":"notes","id":"$id","field":"n"}']
  }),
  "links.query": everyV1([200, ["POST", "/v1/_query_links", '{"table":"notes"}']], {
    400: ["POST", "/v1/_query_links", '{"table":"notes","limit":0}']
  }),
  "keys.revoke": everyV1([200, ["DELETE", "/v1/_keys/unknown"]], { 400: ["DELETE", "/v1/_keys/unknown?a=1"] }),
  "connections.list": everyV1([200, ["GET", "/v1/_connections"]], { 400: ["GET", "/v1/_connections?a=1"] }),
  "connections.revoke": everyV1([200, ["DELETE", "/v1/_connections/unknown"]], {
    400: ["DELETE", "/v1/_connections/unknown?a=1"]
  }),
  "account.delete": {
    success: [200, ["DELETE", "/v1/_account", '{"email":"$email"}']],
    refusals: {
      400: ["DELETE", "/v1/_account", '{"email":"other@example.com"}'],
      401: ["DELETE", "/v1/_account", '{"email":"$email"}'],
      429: ["DELETE", "/v1/_account", '{"email":"other@example.com"}']
    }
  }
}

/** Statuses that any operation may answer with, whatever it declares: unknown address, framing and our own faults. */
export const frameworkStatuses: ReadonlyArray<number> = [404, 405, 408, 415, 421, 431, 500, 503]
