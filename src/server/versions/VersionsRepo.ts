import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import type { Version } from "../../domain/Version.ts"
import { refine } from "../sql/SqlFailure.ts"

/** The SQL of a row's archive. */
export class VersionsRepo extends Context.Service<
  VersionsRepo,
  {
    /**
     * Newest first. Where the versions have more than `most` bytes, none of them is read, and `bytes` tells how many they
     * have.
     */
    readonly list: (
      accountId: string,
      table: string,
      id: string,
      versionDays: number,
      most: number
    ) => Effect.Effect<{ readonly versions: ReadonlyArray<Version>; readonly bytes: number }, Unavailable>
  }
>()("agent-memory/server/versions/VersionsRepo") {
  static readonly layer = Layer.effect(
    VersionsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = Effect.fn("VersionsRepo.list")(function* (
        accountId: string,
        table: string,
        id: string,
        versionDays: number,
        most: number
      ) {
        const found = yield* sql<{
          version: number
          operation: Version["operation"]
          changed_by: string
          archived_at: Date
          expires_at: Date
          created_at: Date
          updated_at: Date
          data: string | null
          bytes: number
        }>`
          SELECT version, operation, changed_by, archived_at, expires_at, created_at, updated_at,
            CASE WHEN bytes <= ${most}::float8 THEN data END AS data, bytes
          FROM (
            SELECT version, operation, changed_by, archived_at, created_at, updated_at, data,
              archived_at + make_interval(days => ${versionDays}::integer) AS expires_at,
              sum(octet_length(data)) OVER ()::float8 AS bytes
            FROM versions
            WHERE account_id = ${accountId} AND table_name = ${table} AND row_id = ${id}
              AND archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
          ) AS sized
          ORDER BY version DESC
        `
        const versions = found.flatMap(({ data, ...one }): ReadonlyArray<Version> =>
          data === null
            ? []
            : [
                {
                  version: one.version,
                  table,
                  operation: one.operation,
                  changedBy: JsonText.trusted(one.changed_by),
                  archivedAt: one.archived_at.getTime(),
                  expiresAt: one.expires_at.getTime(),
                  row: {
                    id,
                    createdAt: one.created_at.getTime(),
                    updatedAt: one.updated_at.getTime(),
                    data: JsonText.trusted(data)
                  }
                }
              ]
        )
        return { versions, bytes: found[0]?.bytes ?? 0 }
      }, refine)

      return VersionsRepo.of({ list })
    })
  )
}
