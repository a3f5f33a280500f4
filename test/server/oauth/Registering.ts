import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Clients } from "../../../src/server/oauth/Clients.ts"
import { jsonOf, wire } from "../wire/Wire.ts"

/** What a registration is answered with. */
export interface Registered {
  readonly client_id: string
  readonly client_id_issued_at: number
  readonly client_secret?: string
  readonly [member: string]: unknown
}

/** The least that a client registers with. */
export const minimal = { redirect_uris: ["https://c.test/cb"] }
/** Where the callers of services come from. */
export const ip = "192.0.2.1"

/** Sends a registration, as JSON text or as what that holds. */
export const register = (body: unknown, headers: Record<string, string> = {}) =>
  wire("POST", "/register", { body: typeof body === "string" ? body : JSON.stringify(body), headers })

/** Registers a client. */
export const registered = Effect.fnUntraced(function* (body: unknown) {
  const answer = yield* register(body)
  assert.strictEqual(answer.status, 201, answer.text)
  return jsonOf<Registered>(answer)
})

/** Asserts a refusal of RFC 7591's form, and gives its description. */
export const refusal = Effect.fnUntraced(function* (body: unknown, error: string, status = 400) {
  const answer = yield* register(body)
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(answer.headers["content-type"], "application/json")
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  const { error: code, error_description, ...others } = jsonOf<{ error: string; error_description: string }>(answer)
  assert.deepStrictEqual({ code, others }, { code: error, others: {} })
  assert.match(error_description, /^[ !#-[\]-~]+$/)
  return error_description
})

/** Whether a client is known. */
export const known = (clientId: string) =>
  Effect.flatMap(Clients, (clients) => Effect.map(Effect.result(clients.find(clientId, ip)), Result.isSuccess))

/** Whether a client is admitted with a secret. */
export const admitted = (clientId: string, secret: string | undefined) =>
  Effect.flatMap(Clients, (clients) =>
    Effect.map(Effect.result(clients.authenticate({ clientId, secret })), Result.isSuccess)
  )
