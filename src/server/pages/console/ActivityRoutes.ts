import { Effect, Layer, Option, Result } from "effect"
import { changePlaceOf } from "../../../domain/Change.ts"
import { cursorAfterDeleted, deletedPlaceOf } from "../../../domain/Version.ts"
import { Changes } from "../../changes/Changes.ts"
import { Tables } from "../../tables/Tables.ts"
import { Writes } from "../../tables/Writes.ts"
import { Versions } from "../../versions/Versions.ts"
import { seeOther } from "../PrivatePage.ts"
import { activityPage } from "./ActivityPage.ts"
import { makeConsole, type Person } from "./Console.ts"
import { deletedPage } from "./DeletedPage.ts"
import { accountResponse } from "./Frame.ts"

/** How many changes, or deleted rows, a page has. */
const pageSize = 100

/** The deleted rows of a page are shown whole to no more than this. */
const deletedPageSize = 50

const given = (query: URLSearchParams, name: string): string | undefined => {
  const text = query.get(name)
  return text === null || text === "" ? undefined : text
}

const queryOf = (url: string) => new URLSearchParams(url.split("?").slice(1).join("?"))

/** The pages of what happened to an account's rows, and the form that takes a write back. */
export const ActivityRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const changes = yield* Changes
    const tables = yield* Tables
    const versions = yield* Versions
    const writes = yield* Writes
    const console = yield* makeConsole

    const show = Effect.fnUntraced(function* ({ actor, proof }: Person, query: URLSearchParams, problem?: string) {
      const ask = { table: given(query, "table"), by: given(query, "by") }
      const after = Option.getOrUndefined(changePlaceOf(query.get("cursor") ?? ""))
      const { changes: found, next } = yield* changes.read(actor, { ...ask, limit: pageSize, after })
      const result = query.has("undone") ? "The write was taken back. That can be undone, too." : undefined
      const page = activityPage({
        ask,
        tables: yield* tables.names(actor),
        changes: found,
        next,
        proof,
        result,
        problem
      })
      return accountResponse(page, problem === undefined ? 200 : 409)
    })

    yield* console.page("/activity", (person, { url }) => show(person, queryOf(url)))

    yield* console.form(
      "/activity/_undo",
      Effect.fnUntraced(function* (person, fields) {
        const change = Number(/^\d{1,15}$/.exec(fields.get("change") ?? "")?.[0] ?? 0)
        const undone = yield* Effect.result(writes.undo(person.actor, {}, change))
        if (Result.isSuccess(undone)) return seeOther("/activity?undone=1")
        const { failure } = undone
        if (failure.status === 503) return yield* failure
        return yield* show(person, new URLSearchParams(), `Nothing was undone. ${failure.detail ?? ""}`.trim())
      })
    )

    yield* console.page(
      "/activity/deleted",
      Effect.fnUntraced(function* ({ actor, proof }, { url }) {
        const query = queryOf(url)
        const names = yield* tables.names(actor)
        const table = given(query, "table") ?? names[0]
        const after = Option.getOrUndefined(deletedPlaceOf(query.get("cursor") ?? ""))
        const found =
          table === undefined
            ? { versions: [], hasMore: false }
            : yield* Effect.scoped(versions.readDeleted(actor, table, { limit: deletedPageSize, after }))
        const last = found.versions.at(-1)
        return accountResponse(
          deletedPage({
            tables: names,
            table,
            rows: found.versions,
            next: found.hasMore && last !== undefined ? cursorAfterDeleted(last) : undefined,
            proof
          })
        )
      })
    )
  })
)
