import { PgClient } from "@effect/sql-pg"
import { Effect, Option } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"
import { accessSync, constants, existsSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { Settings } from "../../server/Config.ts"
import { openExternal } from "../../server/sql/Database.ts"
import { clusterOf } from "../../server/sql/EmbeddedCluster.ts"
import { homeOf } from "../../server/sql/EmbeddedHome.ts"
import { currentOwner } from "../../server/sql/EmbeddedOwner.ts"
import { findEmbedded, type EmbeddedPostgresAddress } from "../../server/sql/EmbeddedPostgres.ts"
import { findPrograms } from "../../server/sql/EmbeddedPrograms.ts"
import { newerOf, newerWarning, obstacleOf, pendingOf, stateOf } from "../../server/sql/Readiness.ts"
import { failed, ok, warning } from "./Finding.ts"

const check = "database"

const look = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, place: string) {
  const [found] = yield* sql<{ version: string; isEncrypted: boolean | null }>`
    SELECT current_setting('server_version') AS version,
      (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS "isEncrypted"
  `
  const { isEncrypted, version } = found!
  const state = yield* stateOf(sql)
  const obstacle = obstacleOf(state)
  if (obstacle !== undefined) return failed(check, obstacle.cause, obstacle.remedy)
  const newer = newerOf(state)
  if (newer.length > 0) {
    const { cause, remedy } = newerWarning(newer)
    return warning(check, cause, remedy)
  }
  const server = `PostgreSQL ${version.split(" ")[0]} ${place}${isEncrypted === true ? ", encrypted" : ""}`
  return pendingOf(state).length === 0
    ? ok(check, `${server}, up to date`)
    : ok(check, `${server}, brought up to date by the next start or by migrate`)
})

/** The folder itself, or where it would be made. */
const nearest = (folder: string): string => (existsSync(folder) ? folder : nearest(dirname(folder)))

const mayWrite = (folder: string): boolean => {
  try {
    accessSync(nearest(folder), constants.W_OK)
    return true
  } catch {
    return false
  }
}

const lookInto = Effect.fnUntraced(function* ({ dataDir, ...address }: EmbeddedPostgresAddress) {
  const client = yield* PgClient.make({ ...address, connectTimeout: "2 seconds", maxConnections: 1 })
  return yield* look(client, `embedded in ${dataDir}, in use by a running service`)
})

const embedded = Effect.fnUntraced(function* (dataDir: string) {
  const folder = resolve(dataDir)
  const running = yield* findEmbedded(dataDir)
  if (Option.isSome(running)) return yield* lookInto(running.value)
  const { major } = yield* findPrograms(currentOwner(clusterOf(yield* homeOf(dataDir))))
  if (!mayWrite(folder)) {
    return failed(check, `${folder} cannot be written`, "Set DATA_DIR to a folder that this user may write.")
  }
  const state = existsSync(folder) ? "not in use now" : "made by the first start"
  return ok(check, `embedded PostgreSQL ${major} in ${folder}, ${state}`)
})

/** Whether the database can be used; nothing is started and nothing is changed. */
export const database = Effect.fnUntraced(
  function* ({ databaseUrl, dataDir }: Settings["Service"]) {
    if (Option.isNone(databaseUrl)) return yield* embedded(dataDir)
    const { client } = yield* openExternal(databaseUrl.value)
    return yield* look(client, "of DATABASE_URL")
  },
  Effect.scoped,
  Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
  Effect.catch(({ message }) => {
    const [what = message, ...fix] = message.split(/(?<=\.)\s+|\n/)
    return Effect.succeed(failed(check, what, fix.join(" ") || "Check DATABASE_URL and the database's log."))
  })
)
