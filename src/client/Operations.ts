import type { Contract } from "./Contract.ts"

/**
 * The operations by group and name. `repeat` says whether a request may be sent again when nobody knows what became of
 * it: `safe` ones do no more twice than once, `keyed` ones are made so by an idempotency key, of `unknown` ones a second
 * request would do the work again, so they are repeated only when the first was certainly not carried out.
 */
export const operations = {
  "auth.magicLink": { method: "POST", path: "/auth/magic-link", repeat: "unknown" },
  "auth.verify": { method: "POST", path: "/auth/verify", repeat: "unknown" },
  "tables.list": { method: "GET", path: "/v1/_tables", repeat: "safe" },
  "tables.export": { method: "GET", path: "/v1/_export", repeat: "safe" },
  "tables.import": { method: "POST", path: "/v1/_import", repeat: "keyed" },
  "tables.usage": { method: "GET", path: "/v1/_usage", repeat: "safe" },
  "keys.list": { method: "GET", path: "/v1/_keys", repeat: "safe" },
  "keys.create": { method: "POST", path: "/v1/_keys", repeat: "unknown" },
  "keys.revoke": { method: "DELETE", path: "/v1/_keys/:id", repeat: "safe" },
  "versions.list": { method: "GET", path: "/v1/:table/versions", repeat: "safe" },
  "versions.restore": { method: "POST", path: "/v1/:table/restore", repeat: "keyed" },
  "rows.query": { method: "GET", path: "/v1/:table", repeat: "safe" },
  "rows.add": { method: "POST", path: "/v1/:table", repeat: "keyed" },
  "rows.delete": { method: "DELETE", path: "/v1/:table", repeat: "keyed" },
  "rows.upsert": { method: "POST", path: "/v1/:table/upsert", repeat: "keyed" },
  "rows.batch": { method: "POST", path: "/v1/:table/batch", repeat: "keyed" },
  "rows.updateRow": { method: "POST", path: "/v1/:table/update_row", repeat: "keyed" },
  "rows.updateWhere": { method: "POST", path: "/v1/:table/update_where", repeat: "keyed" },
  "rows.count": { method: "GET", path: "/v1/:table/count", repeat: "safe" },
  "links.row": { method: "POST", path: "/v1/_row_links", repeat: "unknown" },
  "links.textField": { method: "POST", path: "/v1/_text_field_links", repeat: "unknown" },
  "links.query": { method: "POST", path: "/v1/_query_links", repeat: "unknown" },
  "connections.list": { method: "GET", path: "/v1/_connections", repeat: "safe" },
  "connections.revoke": { method: "DELETE", path: "/v1/_connections/:id", repeat: "safe" }
} as const satisfies Contract

export type OperationName = keyof typeof operations
