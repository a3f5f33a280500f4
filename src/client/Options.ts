import { AgentMemoryError } from "./AgentMemoryError.ts"
import type { Guarded, Search } from "./RowTypes.ts"

/**
 * What the numbers of rows become when they are read:
 * - `number`: the nearest JavaScript number, as with `JSON.parse`; large integers and long decimals lose digits.
 * - `bigint`: integers beyond `Number.MAX_SAFE_INTEGER` become a bigint; other numbers stay numbers where that is exact,
 *   and become a `RawNumber` where it is not (`0.1234567890123456789`, `1e400`).
 * - `text`: every number is a `RawNumber`, which holds its text as it was sent (`1.10`).
 *
 * All of them can be written back: a bigint and a `RawNumber` are sent digit by digit.
 */
export type Numbers = "number" | "bigint" | "text"

export interface ConnectionOptions {
  /** Where the service answers, without `/v1`. `http://localhost:3000` when it is not said. */
  readonly baseUrl?: string | undefined
  /** How long one try may take, in milliseconds; 30,000 when it is not said, `Infinity` for no limit. */
  readonly timeout?: number | undefined
  /** How often a failed request is tried again, 4 times when it is not said. */
  readonly maxRetries?: number | undefined
  /** Stands in for the global `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Lets the client run in a browser's page, where everybody who opens it can read the key. */
  readonly dangerouslyAllowBrowser?: boolean | undefined
}

export interface ClientOptions extends ConnectionOptions {
  /** The API key, `svc_live_…`: a secret of the whole account. */
  readonly apiKey: string
  /** What the numbers of rows become; `number` when it is not said. */
  readonly numbers?: Numbers | undefined
}

/** What one call may say otherwise. */
export interface CallOptions {
  /** Ends the call, and its further tries, at once; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** How long one try may take, in milliseconds. For a limit on all tries together, use `AbortSignal.timeout`. */
  readonly timeout?: number | undefined
  readonly maxRetries?: number | undefined
}

export interface WriteOptions extends CallOptions {
  /**
   * A name for this write, 1 to 255 printable ASCII characters: the same write with the same key is carried out once,
   * within 24 hours. Without it each call makes a key of its own, which its tries share.
   */
  readonly idempotencyKey?: string | undefined
}

export interface DeleteOptions extends WriteOptions, Guarded, Search {
  /** Resolves to what would be deleted, and changes nothing. */
  readonly dryRun?: boolean | undefined
}

export interface ImportOptions extends WriteOptions {
  /** Resolves to what would be imported, and changes nothing. */
  readonly dryRun?: boolean | undefined
}

/** As much of `fetch` as is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

interface Tries {
  readonly timeout: number
  readonly maxRetries: number
}

/** The options with every default filled in, checked. */
export interface Connection extends Tries {
  readonly baseUrl: string
  readonly authorization: string | undefined
  readonly fetch: Fetch
}

const refuse = (detail: string, hint: string) => new AgentMemoryError({ code: "invalid_options", detail, hint })

/** Checks the options of a client. Throws an `AgentMemoryError` with the code `invalid_options`. */
export const connectionOf = (options: ConnectionOptions, apiKey: string | undefined): Connection => {
  if (options.dangerouslyAllowBrowser !== true) refuseBrowser()
  return {
    baseUrl: baseUrlOf(options.baseUrl ?? "http://localhost:3000"),
    authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}`,
    ...triesOf(options, { timeout: 30_000, maxRetries: 4 }),
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init))
  }
}

/** What is said of tries, checked, or what holds otherwise. Throws like {@link connectionOf}. */
export const triesOf = (options: Pick<CallOptions, keyof Tries>, otherwise: Tries): Tries => {
  const { maxRetries = otherwise.maxRetries, timeout = otherwise.timeout } = options
  // As `NaN`, from an unset variable, they would mean no time at all, and tries without end.
  if (typeof timeout !== "number" || !(timeout > 0)) {
    throw refuse("timeout is not a time.", "Pass milliseconds above 0, or Infinity for no limit.")
  }
  if (typeof maxRetries !== "number" || !(maxRetries >= 0)) {
    throw refuse("maxRetries is not a number of tries.", "Pass 0 or more; 0 tries once.")
  }
  return { maxRetries, timeout }
}

/** Checks that there is a key that can be sent. Throws like {@link connectionOf}; the message never holds the key. */
export const checkApiKey = (apiKey: unknown): string => {
  if (typeof apiKey !== "string" || apiKey === "") {
    throw refuse(
      "There is no API key.",
      "Pass it as createClient({ apiKey }). The service's page /install shows how to get the first one."
    )
  }
  if (!isHeaderText(apiKey)) {
    throw refuse(
      "The API key contains white space or characters that no key has.",
      "Copy the key again, without its line end."
    )
  }
  return apiKey
}

/** Checks that a local secret can be sent. Throws like {@link connectionOf}; the message never holds the secret. */
export const checkLocalSecret = (localSecret: string): string => {
  if (isHeaderText(localSecret)) return localSecret
  throw refuse(
    "localSecret is empty, or contains white space or characters that no local secret has.",
    "Pass the contents of the file local-secret, without the line end."
  )
}

// Whatever else it may be, a line break or a space in a header would end up in the run time's own error message.
const isHeaderText = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

const refuseBrowser = () => {
  const page = globalThis as { readonly window?: unknown; readonly document?: unknown }
  if (page.window === undefined || page.document === undefined) return
  throw refuse(
    "This is a browser's page: everyone who opens it could read the API key.",
    "Call Agent Memory from your server. Set dangerouslyAllowBrowser: true only where nobody else can open the page."
  )
}

const baseUrlOf = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // What stands there may be the key, passed by mistake.
    throw refuse("baseUrl is not an http(s) address.", "Pass one such as https://memory.example.com.")
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw refuse("baseUrl is not a plain address.", "Leave out user names, ? and #; the key goes into apiKey.")
  }
  const path = url.pathname.replace(/\/+$/, "")
  if (/\/(?:v1|mcp)$/.test(path)) {
    throw refuse(`baseUrl ends with ${path.slice(path.lastIndexOf("/"))}.`, "Pass the service's address without it.")
  }
  return url.origin + path
}
