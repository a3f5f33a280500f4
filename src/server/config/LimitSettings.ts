import { derivedInteger, integer } from "./Setting.ts"

const mib = 1024 * 1024
const maxCount = 1_000_000_000
const maxBytes = 1024 * 1024 * mib
const maxRate = 1_000_000

/** An account may send so many times what one of its keys may, unless it is set otherwise. */
export const accountShare = 20

/** What an account may hold. */
export const accountLimits = {
  tables: integer("LIMIT_TABLES", 20, [1, maxCount], { meaning: "Tables with rows, for an account." }),
  rowsPerTable: integer("LIMIT_ROWS_PER_TABLE", 1000, [1, maxCount], { meaning: "Rows in a table." }),
  storageBytes: integer("LIMIT_STORAGE_BYTES", 25 * mib, [1, maxBytes], {
    meaning:
      "Live rows of an account, as compact JSON. Bodies of imports may have 1.28 times this, but at least 32 MB and at most 256 MB; results of a batch twice this and 1 MB.",
    unit: "bytes"
  }),
  rowBytes: integer("LIMIT_ROW_BYTES", 65_536, [2, 64 * mib], {
    meaning: "One row, as compact JSON, without the fields that the service sets.",
    unit: "bytes"
  }),
  batchOperations: integer("LIMIT_BATCH_OPERATIONS", 100, [1, 10_000], { meaning: "Operations in a batch." }),
  activeKeys: integer("LIMIT_ACTIVE_KEYS", 100, [1, maxCount], {
    meaning: "Keys of an account that are not revoked."
  }),
  keysPerHour: integer("LIMIT_KEYS_PER_HOUR", 60, [1, maxRate], {
    meaning: "Keys that an account makes in an hour; signing in is not counted."
  }),
  revokedKeyDays: integer("REVOKED_KEY_DAYS", 90, [1, 36_500], {
    meaning: "How long a revoked key stays in the list of keys.",
    unit: "days"
  }),
  liveLinks: integer("LIMIT_LIVE_LINKS", 1000, [1, maxCount], {
    meaning:
      "Links of an account that have not ended. They are not counted as stored: each keeps at most 16 KB of table, filter, sort and field name, so that 1,000 take 16 MB."
  })
}

/** How much of the past is kept. */
export const historyLimits = {
  versionsPerRow: integer("LIMIT_VERSIONS_PER_ROW", 10, [1, maxCount], {
    meaning: "Versions kept of a row; the oldest go first."
  }),
  versionDays: integer("LIMIT_VERSION_DAYS", 30, [1, 36_500], {
    meaning: "How long a version is kept.",
    unit: "days"
  }),
  versionStorageBytes: integer("LIMIT_VERSION_STORAGE_BYTES", 250 * mib, [1, maxBytes], {
    meaning: "All versions of an account; then the oldest go.",
    unit: "bytes"
  }),
  idempotencyStorageBytes: integer("LIMIT_IDEMPOTENCY_STORAGE_BYTES", 250 * mib, [1, maxBytes], {
    meaning: "Answers that an account keeps for repeated requests; then the oldest go.",
    unit: "bytes"
  }),
  idempotencyHours: integer("IDEMPOTENCY_HOURS", 24, [1, 8760], {
    meaning: "How long an answer is kept for the same `Idempotency-Key`.",
    unit: "hours"
  })
}

/** How often callers may come, and how much they may send at once. */
export const requestLimits = {
  writesPerMinute: integer("LIMIT_WRITES_PER_MINUTE", 30, [1, maxRate], {
    meaning: "Writes a minute, for each key, each connection, and each link's saves. A batch is one."
  }),
  readsPerMinute: integer("LIMIT_READS_PER_MINUTE", 60, [1, maxRate], {
    meaning: "Reads a minute, for each key, each connection, and each link."
  }),
  accountWritesPerMinute: derivedInteger("LIMIT_ACCOUNT_WRITES_PER_MINUTE", [1, accountShare * maxRate], {
    meaning: "Writes a minute of an account, over all its keys, connections and links together.",
    otherwise: `${accountShare} times \`LIMIT_WRITES_PER_MINUTE\``
  }),
  accountReadsPerMinute: derivedInteger("LIMIT_ACCOUNT_READS_PER_MINUTE", [1, accountShare * maxRate], {
    meaning: "Reads a minute of an account, over all its keys, connections and links together.",
    otherwise: `${accountShare} times \`LIMIT_READS_PER_MINUTE\``
  }),
  mcpRequestsPerIpPerMinute: integer("LIMIT_MCP_REQUESTS_PER_IP_PER_MINUTE", 6000, [1, 100_000_000], {
    meaning:
      "Requests to `/mcp` a minute from one address to each process, with a token or without. Hosted agents share addresses: raise it where many people use one. A connection may send ten times the messages that it may make calls."
  }),
  anonymousPostsPerIpPerMinute: integer("LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE", 1200, [1, 100_000_000], {
    meaning:
      "POSTs that need no credential, a minute from one address to each process: those of `/auth`, of OAuth, and the forms of the pages. As many requests may show keys that are unknown or revoked, and as many such links; beyond that, those that this process has not lately seen to be good are refused unasked. Hosted agents share addresses."
  }),
  requestBytes: integer("LIMIT_REQUEST_BYTES", 8 * mib, [1024, 256 * mib], {
    meaning:
      "The body of a batch, and of `/mcp`, where a connection that may only read sends at most 256 KB. Any other request about rows has at most six times `LIMIT_ROW_BYTES` and 64 KB of it.",
    unit: "bytes"
  })
}

/** Signing in, connecting, and how long what is given out lives. */
export const signInLimits = {
  magicLinksPerEmailPerHour: integer("LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR", 5, [1, maxRate], {
    meaning: "Sign-in mails an hour to one e-mail address."
  }),
  magicLinksPerIpPerHour: integer("LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR", 20, [1, maxRate], {
    meaning: "Sign-in mails an hour that one client address asks for."
  }),
  verifiesPerIpPerHour: integer("LIMIT_VERIFIES_PER_IP_PER_HOUR", 60, [1, maxRate], {
    meaning: "Sign-in attempts an hour from one client address."
  }),
  registrationsPerIpPerHour: integer("LIMIT_REGISTRATIONS_PER_IP_PER_HOUR", 120, [1, maxRate], {
    meaning: "OAuth clients an hour that one client address registers or has fetched."
  }),
  magicLinkMinutes: integer("MAGIC_LINK_MINUTES", 10, [1, 1440], {
    meaning: "How long a mailed sign-in link and its code live.",
    unit: "minutes"
  }),
  linkMinutes: integer("LINK_MINUTES", 60, [1, 525_600], {
    meaning: "How long a viewer, editor or download link lives.",
    unit: "minutes"
  })
}
