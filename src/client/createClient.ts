import type { AgentMemory } from "./AgentMemory.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import { accountCalls, runBy, tableCalls, type Call, type RowCodec } from "./Calls.ts"
import { jsonOf, rowReader } from "./ExactRows.ts"
import {
  checkApiKey,
  checkLocalSecret,
  connectionOf,
  type CallOptions,
  type ClientOptions,
  type ConnectionOptions
} from "./Options.ts"
import { step } from "./Retries.ts"
import { makeSend, runSteps } from "./Send.ts"
import type { AnyRow, StandardSchema, Stored } from "./RowTypes.ts"

export { RawNumber } from "../domain/json/JsonText.ts"
export type { AgentMemory, Connections, Keys, Links, TableClient } from "./AgentMemory.ts"
export { AgentMemoryError } from "./AgentMemoryError.ts"
export type { ClientCode, ErrorCode, ErrorMembers, FieldIssue, MembersByCode, ProblemCode } from "./AgentMemoryError.ts"
export type {
  CallOptions,
  ClientOptions,
  ConnectionOptions,
  DeleteOptions,
  Fetch,
  ImportOptions,
  Numbers,
  WriteOptions
} from "./Options.ts"
export type * from "./RowTypes.ts"
export type * from "./AccountTypes.ts"

/**
 * Opens an account: `createClient({ apiKey, baseUrl })`. Nothing is sent before the first call. For server-side code
 * only: the key is a secret of the whole account, which neither the client nor its errors show.
 *
 * What fails by 429, 502, 503, 504, the network or a timeout is tried again, up to `maxRetries` times, after a random
 * time that doubles from 250 ms to at most 8 s. A `Retry-After` is waited for first, unless it is over 60 seconds: then
 * the call rejects at once. Throws an `AgentMemoryError` with the code `invalid_options`.
 */
export const createClient = (options: ClientOptions): AgentMemory => {
  const send = makeSend(connectionOf(options, checkApiKey(options.apiKey)))
  const call: Call = (...sent) => step(send(...sent))
  const readRow = rowReader(options.numbers)
  return {
    ...(inPromises(accountCalls(call, readRow)) as AgentMemory),
    table: ((name: string, schema?: StandardSchema) =>
      inPromises(tableCalls(name, call, readRow, codecOf(name, schema)))) as AgentMemory["table"],
    exportResponse: (options) => send("tables.export", {}, options, (response) => Promise.resolve(response))
  }
}

export interface MagicLinkSent {
  readonly ok: boolean
  readonly expires_at: string
  /** The link itself, only from a service in local mode to whoever sent its local secret, `localSecret`. */
  readonly dev_magic_link?: string
}

export interface Verified {
  /** The new key, shown in this answer only. */
  readonly api_key: string
  readonly account_id: string
}

export interface SignInOptions extends ConnectionOptions {
  /**
   * The local secret of a service that runs for its own machine alone: what is in the file `local-secret` of its
   * `DATA_DIR`. With it the service answers the link that it has no mail server for.
   */
  readonly localSecret?: string | undefined
}

/** The way to an account's first API key. */
export interface SignIn {
  /** Sends a sign-in link to the address, whether or not it has an account. */
  readonly magicLink: (email: string, options?: CallOptions) => Promise<MagicLinkSent>
  /** Exchanges a link's token for a new API key. A token works once. */
  readonly verify: (token: string, options?: CallOptions) => Promise<Verified>
}

/** Signs in by e-mail, without a key. Throws an `AgentMemoryError` with the code `invalid_options`. */
export const createSignIn = ({ localSecret, ...options }: SignInOptions = {}): SignIn => {
  const send = makeSend(connectionOf(options, undefined))
  const headers: Readonly<Record<string, string>> =
    localSecret === undefined ? {} : { "x-local-secret": checkLocalSecret(localSecret) }
  return {
    magicLink: (email, options) => send("auth.magicLink", { body: { email }, headers }, options),
    verify: (token, options) => send("auth.verify", { body: { token } }, options)
  }
}

const inPromises = (methods: object): object => runBy((steps) => runSteps(steps()), methods)

const codecOf = (table: string, schema: StandardSchema | undefined): RowCodec => ({
  *write(row) {
    return jsonOf(row)
  },
  *read(rows) {
    if (schema === undefined) return rows
    return yield* step(Promise.all(rows.map((row) => validated(table, schema, row))))
  }
})

const validated = async (table: string, schema: StandardSchema, row: Stored<AnyRow>): Promise<Stored<AnyRow>> => {
  // A schema describes the row's own fields; many refuse fields that they do not know.
  const { created_at, id, updated_at, ...own } = row
  const result = await schema["~standard"].validate(own)
  if (result.issues === undefined) return { id, created_at, updated_at, ...(result.value as AnyRow) }
  throw new AgentMemoryError({
    code: "invalid_row",
    detail: `Row ${id} of table ${table} does not fit its schema: ${result.issues[0]?.message ?? "no reason given"}.`,
    hint: "It is stored as it is: correct the row, or widen the schema.",
    table,
    rowId: id,
    issues: result.issues
  })
}
