import { Schema } from "effect"

const count = (description: string) => Schema.Natural.annotate({ description })

/** Every limit of the service as it is set (specification section 8); each name but its `LIMIT_` is the setting's. */
const UsageLimits = Schema.Struct({
  tables: count("Tables with rows."),
  rows_per_table: count("Live rows of one table."),
  storage_bytes: count("Live rows of the account, without their system fields."),
  row_bytes: count("The compact JSON of one row, without its system fields."),
  batch_operations: count("Operations of one batch."),
  writes_per_minute: count("Writes of one key."),
  reads_per_minute: count("Reads of one key."),
  account_writes_per_minute: count("Writes of the account, over all its keys, connections and links."),
  account_reads_per_minute: count("Reads of the account, over all its keys, connections and links."),
  versions_per_row: count("Archived versions that are kept of a row."),
  version_days: count("Days that an archived version is kept."),
  version_storage_bytes: count("Archived versions of the account; beyond it the oldest go first."),
  active_keys: count("API keys that are not revoked."),
  keys_per_hour: count("API keys that the account makes in an hour."),
  revoked_key_days: count("Days that a revoked API key stays in the list."),
  live_links: count("Links of the account that have not ended."),
  request_bytes: count(
    "The body of a request. One about rows that is no batch has at most six times row_bytes and 64 KB."
  ),
  import_request_bytes: count("The body of an import."),
  auth_request_bytes: count("The body of a request that signs in, or makes a key or a link."),
  idempotency_storage_bytes: count("Kept answers of the account; beyond it the oldest go first."),
  idempotency_hours: count("Hours that an answer is kept for its Idempotency-Key."),
  magic_link_minutes: count("Minutes that a sign-in link works."),
  link_minutes: count("Minutes that a viewer or download link works."),
  magic_links_per_email_per_hour: count("Sign-in links for one address."),
  magic_links_per_ip_per_hour: count("Sign-in links for one client IP."),
  verifies_per_ip_per_hour: count("Attempts to sign in of one client IP."),
  registrations_per_ip_per_hour: count("OAuth clients that one client IP registers."),
  mcp_requests_per_ip_per_minute: count("Requests to /mcp of one client IP, before anybody is signed in."),
  anonymous_posts_per_ip_per_minute: count(
    "Requests of one client IP to sign in or to connect an app; as many with unknown keys, and with unknown links."
  )
}).annotate({ identifier: "UsageLimits", description: "The service's limits. Bytes are of UTF-8." })

/** What an account holds, what it may hold, and what the asking key may still send at once. */
export const Usage = Schema.Struct({
  account_id: Schema.String,
  key: Schema.Struct({ id: Schema.String, name: Schema.String }).annotate({ description: "The key that asked." }),
  tables: count("Tables that have rows."),
  rows: count("Live rows of all tables."),
  storage_bytes: count("Bytes of the live rows, without their system fields."),
  version_storage_bytes: count("Bytes of the archived versions."),
  limits: UsageLimits,
  remaining: Schema.Struct({ writes: Schema.Natural, reads: Schema.Natural }).annotate({
    description: "What the key may send at once, and its account as well; this request is counted already."
  })
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type
