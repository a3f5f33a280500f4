import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../server/sql/EmbeddedSocket.ts"
import { currentOwner } from "../server/sql/EmbeddedOwner.ts"

/**
 * Waits for the end of its input, which comes with the end of the process that started it, however that ended. Then the
 * PostgreSQL that the folder belongs to is stopped at once, as nobody needs its files any more.
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

/** Cleans up after this process if it is killed. Gives what ends the watch. */
const watch = (folder: string) => {
  const child = spawn("/bin/sh", ["-c", cleaner, folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
  // Where there is no shell, only an orderly end cleans up.
  child.on("error", () => undefined)
  child.unref()
  const { stdin } = child
  if ("unref" in stdin && typeof stdin.unref === "function") stdin.unref()
  return () => void child.kill("SIGKILL")
}

/** A folder for the files of an embedded PostgreSQL. It is removed at the end, also if this process is killed. */
export const throwAwayFolder = Effect.acquireRelease(
  Effect.sync(() => {
    // In root's own temporary folder the database would put its files elsewhere, where nothing removes them.
    const folder = mkdtempSync(join(temporaryFolder(currentOwner()), "agent-memory-test-"))
    return { folder, stopWatching: watch(folder) }
  }),
  ({ folder, stopWatching }) =>
    Effect.sync(() => {
      stopWatching()
      rmSync(folder, { recursive: true, force: true })
    })
).pipe(Effect.map(({ folder }) => folder))
