import { assert } from "@effect/vitest"
import { AgentMemoryError, createClient, type ClientOptions } from "../../src/client/createClient.ts"
import { rejection } from "../support/Client.ts"
import type { Fault } from "../support/FaultyServer.ts"

/** A 429 that asks for a wait. */
export const limited = (retryAfter: string): Fault => ({
  kind: "answer",
  status: 429,
  headers: { "retry-after": retryAfter },
  body: '{"code":"rate_limited","status":429,"detail":"Too many.","limit":30,"retry_after":1}'
})

/** What no table is listed as. */
export const tables: Fault = { kind: "answer", status: 200, body: '{"tables":[]}' }

/** A 503 that asks for no wait. */
export const unavailable: Fault = { kind: "answer", status: 503, headers: { "retry-after": "0" } }

/** What a gateway answers that does not reach the service. */
export const gateway = {
  kind: "answer",
  status: 502,
  headers: { "content-type": "text/html" },
  body: "<h1>Bad Gateway"
} satisfies Fault

/** A client of a server that takes any key. */
export const client = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ apiKey: "svc_live_test", baseUrl, ...options })

/** The error that a call rejects with. */
export const failed = async (promise: Promise<unknown>): Promise<AgentMemoryError> => {
  const error = await rejection(promise)
  assert.instanceOf(error, AgentMemoryError)
  return error
}
