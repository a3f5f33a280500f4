import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { AccountId } from "../domain/Account.ts"
import type { KeyId } from "../domain/Key.ts"
import { currentOwner, temporaryFolder } from "../server/sql/EmbeddedAccess.ts"

/**
 * Waits for the end of its input, which is the end of the process that started it, however it ended. Then it kills the
 * PostgreSQL of the folder and removes the folder.
 */
const cleaner = `
read -r _
if [ -f "$0/postgres/postmaster.pid" ]; then
  pid=$(sed -n 1p "$0/postgres/postmaster.pid")
  socket=$(sed -n 5p "$0/postgres/postmaster.pid")
  kill -QUIT "$pid"
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" || break; sleep 0.2; done
  case "$socket" in */agent-memory-*) rm -rf "$socket" ;; esac
fi
rm -rf "$0"
`

/** Starts the cleaner, in case this process is killed. Returns a function that stops it. */
const watch = (folder: string) => {
  const child = spawn("/bin/sh", ["-c", cleaner, folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
  // Without a shell, only an orderly shutdown cleans up.
  child.on("error", () => undefined)
  child.unref()
  const { stdin } = child
  if ("unref" in stdin && typeof stdin.unref === "function") stdin.unref()
  return () => void child.kill("SIGKILL")
}

/** A folder in this one for an embedded PostgreSQL. It is removed at the end, also if this process is killed. */
export const throwAwayFolderIn = (place: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(place, "agent-memory-test-"))
      return { folder, stopWatching: watch(folder) }
    }),
    ({ folder, stopWatching }) =>
      Effect.sync(() => {
        stopWatching()
        rmSync(folder, { recursive: true, force: true })
      })
  ).pipe(Effect.map(({ folder }) => folder))

/** The same where temporary files are. */
export const throwAwayFolder = Effect.suspend(() =>
  // If the database's user could not reach the folder, its files would be elsewhere, and would not be removed.
  throwAwayFolderIn(temporaryFolder(currentOwner()))
)

const kept = ["migrations", "accounts", "account_emails", "api_keys"]

/** Empties the database but for one account and its key. The account's new revision invalidates the caches. */
export const resetDatabase = Effect.fnUntraced(function* (accountId: AccountId, keyId: KeyId) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND NOT tablename IN ${sql.in(kept)}
  `
  // For few rows this is many times faster than TRUNCATE, which creates new files.
  for (const { name } of tables) yield* sql`DELETE FROM ${sql(name)}`
  yield* sql`DELETE FROM account_emails WHERE account_id <> ${accountId}`
  yield* sql`DELETE FROM api_keys WHERE key_id <> ${keyId}`
  yield* sql`DELETE FROM accounts WHERE account_id <> ${accountId}`
  yield* sql`UPDATE api_keys SET revoked_at = NULL, last_used_at = NULL WHERE account_id = ${accountId}`
  yield* sql`
    UPDATE accounts
    SET revision = revision + 1, next_seq = 1, next_change = 1, swept_change = 0, storage_bytes = 0, version_bytes = 0, idempotency_bytes = 0
    WHERE account_id = ${accountId}
  `
})
