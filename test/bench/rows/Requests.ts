import { item } from "../Items.ts"
import type { LoadPlan } from "../Load.ts"

/** What one variant of a work is sent, without where and by how many connections. */
export type Request = Pick<LoadPlan, "method" | "path" | "headers" | "values"> & { readonly body?: string }

export const post = (
  path: string,
  body: string,
  values: Request["values"],
  headers: Request["headers"] = {}
): Request => ({ method: "POST", path, body, values, headers })

export const get = (path: string, values: Request["values"], headers: Request["headers"] = {}): Request => ({
  method: "GET",
  path,
  values,
  headers
})

/** What the service wants of a read, and of a write that may be repeated. */
export const bearer = { authorization: "Bearer {key}" }
export const once = { ...bearer, "idempotency-key": "{run}-{n}" }

export const parseHeaders = { "x-parse-application-id": "bench", "x-parse-rest-api-key": "bench" }

/** An object that no other request has. */
export const newItem = item("{n}", "open")

/** The add that each of them does. */
export const adds = (values: Request["values"]) => ({
  service: post("/v1/items", newItem, values, once),
  floor: post("/{account}/add", newItem, values),
  parse: post("/parse/classes/Item", newItem, [{}], parseHeaders)
})

/** The rows of a list that are in one state, by their number. */
export const filter = encodeURIComponent('{"status":"open"}')
export const reads = (values: Request["values"]) => ({
  service: get(`/v1/list?filter=${filter}&sort=-n&limit=25`, values, bearer),
  floor: get(`/{account}/query?filter=${filter}&limit=25`, values),
  parse: get(`/parse/classes/List?where=${filter}&order=-n&limit=25`, [{}], parseHeaders)
})
