import { amountText, isMeasure, numberText, type Measure } from "./Amounts.ts"

/** One limit of the service: how it is set, and how it is described wherever it is shown. */
export interface Limit {
  /** The environment variable that sets it; undefined if the value is fixed or derived from another limit. */
  readonly setting?: string
  readonly fallback: number | Derived
  readonly range?: readonly [least: number, most: number]
  readonly unit: "count" | "per minute" | "per hour" | Measure
  readonly label: string
  /** A sentence or two for operators and clients. Code is in backticks. */
  readonly meaning: string
}

interface Derived {
  readonly from: "storageBytes" | "writesPerMinute" | "readsPerMinute"
  readonly by: (value: number) => number
  /** The rule as people read it. */
  readonly rule: string
}

const mib = 1024 * 1024
const maxCount = 1_000_000_000
const maxBytes = 1024 * 1024 * mib
const maxRate = 1_000_000
const maxDays = 36_500

/** An account's default limits, as a multiple of a key's. */
const accountShare = 20
const accountRange = [1, accountShare * maxRate] as const

const timesAKey = (what: "writes" | "reads"): Derived => ({
  from: `${what}PerMinute`,
  by: (perKey) => accountShare * perKey,
  rule: `${accountShare} times \`LIMIT_${what.toUpperCase()}_PER_MINUTE\``
})

const limit = (
  setting: string,
  fallback: Limit["fallback"],
  range: NonNullable<Limit["range"]>,
  unit: Limit["unit"],
  words: Pick<Limit, "label" | "meaning">
): Limit => ({ setting, fallback, range, unit, ...words })

const accountLimits = {
  tables: limit("LIMIT_TABLES", 20, [1, maxCount], "count", {
    label: "Tables per account",
    meaning: "Tables of an account. A table without rows does not count."
  }),
  rowsPerTable: limit("LIMIT_ROWS_PER_TABLE", 1000, [1, maxCount], "count", {
    label: "Rows per table",
    meaning: "Live rows in a table."
  }),
  storageBytes: limit("LIMIT_STORAGE_BYTES", 25 * mib, [1, maxBytes], "bytes", {
    label: "Storage per account",
    meaning:
      "Size of all live rows of an account, as compact JSON without the system fields. The results of a batch can have twice this size plus 1 MB."
  }),
  rowBytes: limit("LIMIT_ROW_BYTES", 65_536, [2, 64 * mib], "bytes", {
    label: "Row size",
    meaning: "Size of one row, as compact JSON without the system fields."
  }),
  batchOperations: limit("LIMIT_BATCH_OPERATIONS", 100, [1, 10_000], "count", {
    label: "Operations per batch",
    meaning: "Operations in one batch."
  }),
  activeKeys: limit("LIMIT_ACTIVE_KEYS", 100, [1, maxCount], "count", {
    label: "Active keys per account",
    meaning: "API keys of an account that are not revoked."
  }),
  keysPerHour: limit("LIMIT_KEYS_PER_HOUR", 60, [1, maxRate], "per hour", {
    label: "New keys per hour per account",
    meaning: "API keys that an account can create in an hour. Keys made by signing in do not count."
  }),
  revokedKeyDays: limit("REVOKED_KEY_DAYS", 90, [1, maxDays], "days", {
    label: "Time that a revoked key stays listed",
    meaning: "How long a revoked key stays in the list of keys."
  }),
  liveLinks: limit("LIMIT_LIVE_LINKS", 1000, [1, maxCount], "count", {
    label: "Live links per account",
    meaning:
      "Links of an account that have not expired. They do not count as storage: each keeps at most 16 KB of table, filter, sort and field names, so 1,000 links take up to 16 MB."
  })
}

const historyLimits = {
  versionsPerRow: limit("LIMIT_VERSIONS_PER_ROW", 10, [1, maxCount], "count", {
    label: "Versions per row",
    meaning: "Versions kept of a row. The oldest are removed first."
  }),
  versionDays: limit("LIMIT_VERSION_DAYS", 30, [1, maxDays], "days", {
    label: "Lifetime of a version",
    meaning: "How long a version is kept."
  }),
  versionStorageBytes: limit("LIMIT_VERSION_STORAGE_BYTES", 250 * mib, [1, maxBytes], "bytes", {
    label: "Storage of versions per account",
    meaning: "Size of all versions of an account. The oldest are removed first."
  }),
  changes: limit("LIMIT_CHANGES", 200_000, [1, maxCount], "count", {
    label: "Changes kept per account",
    meaning: "Changes of rows that are kept for `GET /v1/_changes`. The oldest are removed first."
  }),
  idempotencyStorageBytes: limit("LIMIT_IDEMPOTENCY_STORAGE_BYTES", 250 * mib, [1, maxBytes], "bytes", {
    label: "Storage of responses per account",
    meaning: "Size of the responses kept for repeated requests of an account. The oldest are removed first."
  }),
  idempotencyHours: limit("IDEMPOTENCY_HOURS", 24, [1, 8760], "hours", {
    label: "Lifetime of a stored response",
    meaning: "How long the response to a request is kept for its `Idempotency-Key`."
  })
}

const requestLimits = {
  writesPerMinute: limit("LIMIT_WRITES_PER_MINUTE", 30, [1, maxRate], "per minute", {
    label: "Writes per minute per key",
    meaning: "Writes per minute, for each key, each connection, and the saves of each link. A batch counts as one."
  }),
  readsPerMinute: limit("LIMIT_READS_PER_MINUTE", 60, [1, maxRate], "per minute", {
    label: "Reads per minute per key",
    meaning: "Reads per minute, for each key, each connection and each link."
  }),
  accountWritesPerMinute: limit("LIMIT_ACCOUNT_WRITES_PER_MINUTE", timesAKey("writes"), accountRange, "per minute", {
    label: "Writes per minute per account",
    meaning: "Writes per minute of an account, across all its keys, connections and links."
  }),
  accountReadsPerMinute: limit("LIMIT_ACCOUNT_READS_PER_MINUTE", timesAKey("reads"), accountRange, "per minute", {
    label: "Reads per minute per account",
    meaning: "Reads per minute of an account, across all its keys, connections and links."
  }),
  personWritesPerMinute: limit("LIMIT_PERSON_WRITES_PER_MINUTE", 120, [1, maxRate], "per minute", {
    label: "Writes per minute per person",
    meaning:
      "Writes per minute of the person who is signed in, to each process, from all their browsers together. They count apart from those of keys, connections and links."
  }),
  personReadsPerMinute: limit("LIMIT_PERSON_READS_PER_MINUTE", 600, [1, maxRate], "per minute", {
    label: "Pages per minute per person",
    meaning: "Pages and downloads per minute of the person who is signed in, counted in the same way."
  }),
  mcpRequestsPerIpPerMinute: limit("LIMIT_MCP_REQUESTS_PER_IP_PER_MINUTE", 6000, [1, 100_000_000], "per minute", {
    label: "Requests to `/mcp` per minute per client IP",
    meaning:
      "Requests to `/mcp` per minute from one IP address to each process, with or without a token. Hosted agents share addresses: raise it if many people use one. A connection can send ten times as many messages as it can make calls."
  }),
  anonymousPostsPerIpPerMinute: limit("LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE", 1200, [1, 100_000_000], "per minute", {
    label: "Requests without credentials per minute per client IP",
    meaning:
      "Requests that need no credentials, per minute from one IP address to each process: POSTs to `/auth` and of OAuth, and the pages and forms for sign-in, consent and connections. As many requests can have keys that are unknown or revoked, and as many such links; beyond that, keys and links that this process has not recently accepted are refused without a look-up. Hosted agents share addresses."
  }),
  requestBytes: limit("LIMIT_REQUEST_BYTES", 8 * mib, [1024, 256 * mib], "bytes", {
    label: "Request body",
    meaning:
      "The body of a batch, or of a request to `/mcp`; a read-only connection can send up to 256 KB of it. Any other request about rows can have six times `LIMIT_ROW_BYTES` plus 64 KB, up to this limit."
  }),
  importRequestBytes: {
    // Enough for the rows of a full account, with the system fields of many small rows.
    fallback: {
      from: "storageBytes",
      by: (storageBytes) => Math.min(256 * mib, Math.max(32 * mib, Math.ceil(storageBytes * 1.28))),
      rule: "1.28 times `LIMIT_STORAGE_BYTES`, from 32 MB to 256 MB"
    },
    unit: "bytes",
    label: "Import body",
    meaning: "The body of an import: 1.28 times `LIMIT_STORAGE_BYTES`, but at least 32 MB and at most 256 MB."
  } as Limit,
  authRequestBytes: {
    fallback: 16_384,
    unit: "bytes",
    label: "Body of a request for a sign-in, a key or a link",
    meaning: "The body of a request that signs in, or makes a key or a link."
  } as Limit
}

const signInLimits = {
  magicLinksPerEmailPerHour: limit("LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR", 5, [1, maxRate], "per hour", {
    label: "Sign-in emails per hour per address",
    meaning: "Sign-in emails per hour to one address."
  }),
  magicLinksPerIpPerHour: limit("LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR", 20, [1, maxRate], "per hour", {
    label: "Sign-in emails per hour per client IP",
    meaning: "Sign-in emails per hour that one IP address can request."
  }),
  verifiesPerIpPerHour: limit("LIMIT_VERIFIES_PER_IP_PER_HOUR", 60, [1, maxRate], "per hour", {
    label: "Sign-in attempts per hour per client IP",
    meaning: "Sign-in attempts per hour from one IP address."
  }),
  registrationsPerIpPerHour: limit("LIMIT_REGISTRATIONS_PER_IP_PER_HOUR", 120, [1, maxRate], "per hour", {
    label: "OAuth clients per hour per client IP",
    meaning: "OAuth clients per hour that one IP address registers, or whose documents are fetched for it."
  }),
  magicLinkMinutes: limit("MAGIC_LINK_MINUTES", 10, [1, 1440], "minutes", {
    label: "Lifetime of a sign-in link",
    meaning: "How long an emailed sign-in link and its code work."
  }),
  accessTokenHours: limit("ACCESS_TOKEN_HOURS", 24, [1, 2160], "hours", {
    label: "Lifetime of an access token",
    meaning:
      "How long the access token of an MCP client works before the client has to refresh it. Every request looks the token up, so a revoked connection ends at once, whatever its tokens' lifetime."
  }),
  linkMinutes: limit("LINK_MINUTES", 60, [1, 525_600], "minutes", {
    label: "Lifetime of a link",
    meaning: "How long a viewer, editor or download link works."
  })
}

/** Every limit, declared once: settings, `GET /v1/_usage`, OpenAPI, tools and pages derive from it. Bytes are of UTF-8. */
export const limits = { ...accountLimits, ...historyLimits, ...requestLimits, ...signInLimits }

/** The limits under their headings on the pages. */
export const limitGroups: ReadonlyArray<readonly [heading: string, limits: Readonly<Record<string, Limit>>]> = [
  ["Account limits", accountLimits],
  ["History limits", historyLimits],
  ["Request limits", requestLimits],
  ["Sign-in limits and lifetimes of links", signInLimits]
]

export type LimitName = keyof typeof limits

/** The values of all limits in one service. */
export type Limits = Readonly<Record<LimitName, number>>

/** The limits of a service with these set and the others at their defaults. */
export const limitsWith = (set: Partial<Limits>): Limits => {
  const valueOf = (name: LimitName): number => {
    const { fallback } = limits[name]
    return set[name] ?? (typeof fallback === "number" ? fallback : fallback.by(valueOf(fallback.from)))
  }
  return Object.fromEntries(limitNames.map((name) => [name, valueOf(name)])) as Limits
}

export const limitNames = Object.keys(limits) as ReadonlyArray<LimitName>

/** A limit's value as people read it: `64 KB`, `30 days`, `1,000`. */
export const limitText = (name: LimitName, values: Limits): string => {
  const { unit } = limits[name]
  return isMeasure(unit) ? amountText(values[name], unit) : numberText(values[name])
}

/** Replaces placeholders like `{limits.rowBytes}` by the values of a service. */
export const fillLimits = (text: string, values: Limits): string =>
  text.replaceAll(/\{limits\.(\w+)\}/g, (_, name: LimitName) => limitText(name, values))

/** The name of a limit in `GET /v1/_usage`: `row_bytes` for `rowBytes`. */
type UsageName<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${UsageName<Rest>}`
  : ""

export const usageName = (name: LimitName): string =>
  name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)

/** The values of all limits, by their names in `GET /v1/_usage`. */
export type UsageLimits = { readonly [Name in LimitName as UsageName<Name>]: number }

export const usageLimits = (values: Limits): UsageLimits =>
  Object.fromEntries(limitNames.map((name) => [usageName(name), values[name]])) as unknown as UsageLimits

/** In bytes of UTF-8: the size of an account's versions and stored responses. */
export interface ArchiveBytes {
  readonly versionBytes: number
  readonly idempotencyBytes: number
}

/**
 * In characters: the maximum length of a request with this many rows. An escape takes six for one byte, and everything beside
 * the rows is far below 64 KB.
 */
export const longestRequest = (rows: number, rowBytes: number): number => rows * 6 * rowBytes + 65_536

/** How many rows a query returns by default, and at most. */
export const defaultQueryLimit = 100
export const maxQueryLimit = 1000

/** The maximum number of names in a natural key. */
export const maxKeyNames = 32

/** The most edits of one update. */
export const maxEdits = 20

/** The most comparisons of a filter, bytes of its JSON, and values of an `in`. */
export const maxFilterConditions = 50
export const maxFilterBytes = 16_384
export const maxInValues = 100

/** The maximum number of characters in a search. */
export const maxSearchLength = 200

/** The maximum number of rows in the response of a search of all tables. */
export const maxHits = 20
