import { create } from "content-disposition"
import { type JsonText, print } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { rowText } from "../../domain/Row.ts"
import { endingOf, languageOf, type LinkContent } from "./LinkContent.ts"

interface Download {
  readonly body: string
  readonly contentType: string
  readonly name: string
}

const asJson = (body: string, name: string): Download => ({
  body,
  contentType: "application/json",
  name: `${name}.json`
})

/** One row as a file. */
export const rowDownload = (table: string, id: string, row: JsonText): Download => asJson(row.text, `${table}-${id}`)

/** The row's object, the field's text, or `{rows, has_more, next_cursor}`. */
export const downloadOf = (content: LinkContent): Download => {
  switch (content.kind) {
    case "row":
      return rowDownload(content.table, content.row.id, rowText(content.row))
    case "query": {
      const { hasMore, nextCursor, rows, target } = content
      return asJson(print({ rows, has_more: hasMore, next_cursor: nextCursor }), `${target.table}-rows`)
    }
    case "text": {
      const { field, row, table } = content
      const text = decodeString(field.value)
      const name = `${table}-${row.id}-${safeName(field.name)}`
      // UTF-8 cannot encode a lone surrogate; only JSON can, as an escape.
      if (!text.isWellFormed()) return asJson(field.value, name)
      const ending = endingOf(languageOf(row), field.name, text)
      return {
        body: text,
        contentType: "text/plain; charset=utf-8",
        name: name.endsWith(ending) ? name : name + ending
      }
    }
  }
}

/** A field's name for use in a file name: without paths, control characters, and dots at the start or end. */
const safeName = (field: string): string => {
  const name = Array.from(field.toWellFormed())
    .slice(0, 80)
    .join("")
    .normalize("NFC")
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "_")
    .replace(/\.{2,}/g, ".")
    .replace(/^\.+|\.+$/g, "")
  return name === "" ? "field" : name
}

/** `Content-Disposition` of an attachment, with an ASCII fallback of its name for old clients. */
export const attachment = (name: string): string => create(name, { fallback: name.replace(/[^\w.-]/g, "_") })
