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
    readonly list: (
      accountId: string,
      table: string,
      id: string,
      versionDays: number
    ) => Effect.Effect<ReadonlyArray<Version>, Unavailable>
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
        versionDays: number
      ) {
        const found = yield* sql<{
          version: number
          operation: Version["operation"]
          changed_by: string
          archived_at: Date
          expires_at: Date
          created_at: Date
          updated_at: Date
          data: string
        }>`
          SELECT version, operation, changed_by, archived_at, created_at, updated_at, data,
            archived_at + make_interval(days => ${versionDays}::integer) AS expires_at
          FROM versions
          WHERE account_id = ${accountId} AND table_name = ${table} AND row_id = ${id}
            AND archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
          ORDER BY version DESC
        `
        return found.map((one) => ({
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
            data: JsonText.trusted(one.data)
          }
        }))
      }, refine)

      return VersionsRepo.of({ list })
    })
  )
}
