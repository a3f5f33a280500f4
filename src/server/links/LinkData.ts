import { JsonText } from "../../domain/json/JsonText.ts"
import { print } from "../../domain/json/Print.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"
import { rowText, timeText } from "../../domain/Row.ts"
import { languageOf } from "./Languages.ts"
import type { LinkContent } from "./LinkContent.ts"
import type { FoundLink } from "./LinksRepo.ts"

/** What a link shows, for the scripts of its page: exact JSON of the rows, until when, and what may be done. */
export const dataText = (
  { expiresAt, isViewer, now, target }: FoundLink,
  content: LinkContent,
  rowBytes: number
): JsonText => {
  const common = {
    editable: isViewer && target.kind !== "query",
    expires_at: timeText(expiresAt.getTime()),
    server_time: timeText(now.getTime())
  }
  switch (content.kind) {
    case "row": {
      const { row, table } = content
      const data = { kind: "row", table, id: row.id, row: rowText(row), ...common, limits: { row_bytes: rowBytes } }
      return JsonText.trusted(print(data))
    }
    case "text": {
      const { field, row, table } = content
      const data = {
        kind: "text",
        table,
        id: row.id,
        field: field.name,
        value: JsonText.trusted(field.value),
        updated_at: timeText(row.updatedAt),
        language: languageOf(row) ?? null,
        other_bytes: row.data.bytes - utf8Length(field.value),
        ...common,
        limits: { row_bytes: rowBytes }
      }
      return JsonText.trusted(print(data))
    }
    case "query": {
      const { hasMore, rows, target } = content
      const { filter, limit, sort, table } = target
      const data = {
        kind: "query",
        table,
        filter: filter ?? null,
        sort: sort ?? null,
        limit,
        rows: rows.map(rowText),
        has_more: hasMore,
        ...common
      }
      return JsonText.trusted(print(data))
    }
  }
}
