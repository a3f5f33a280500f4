import { Result } from "effect"
import { JsonText } from "../../../../domain/json/JsonText.ts"
import { print } from "../../../../domain/json/Print.ts"
import { utf8Length } from "../../../../domain/json/Utf8.ts"
import { memberTexts, stringOf } from "./JsonParts.ts"
import { withLineFeeds, withStoredEndings } from "./LineEndings.ts"
import type { EditableLink, TextLink, Version } from "./LinkData.ts"
import { checkRow, keepSpelling, ownFields, saveBody, tooLarge } from "./RowText.ts"

/**
 * What a row and a text field have in common for editing. Content is what is stored: a row's own fields as compact JSON,
 * or the field's text. What is typed may be unfinished.
 */
export interface Subject {
  readonly content: (data: EditableLink) => string
  readonly updatedAt: (data: EditableLink) => string
  /** What an editor begins with. */
  readonly typed: (content: string) => string
  /** The content that the typed text stands for, or why it cannot be saved. */
  readonly check: (typed: string, stored: string) => Result.Result<string, string>
  /** The size of the whole row in bytes. */
  readonly bytes: (content: string) => number
  readonly limit: number
  readonly body: (updatedAt: string, stored: string, content: string) => string
  readonly ofVersion: (version: Version) => string | undefined
  readonly file: { readonly name: string; readonly type: string }
}

const fileName = (...parts: ReadonlyArray<string>): string =>
  parts.map((part) => part.replace(/[^\w.-]+/g, "_").slice(0, 60)).join("-")

const rowSubject = (table: string, id: string, limit: number): Subject => ({
  content: (data) => (data.kind === "row" ? ownFields(data.row.text).text : "{}"),
  updatedAt: (data) => (data.kind === "row" ? (stringOf(memberTexts(data.row.text).get("updated_at")) ?? "") : ""),
  typed: (content) => content,
  check: (typed, stored) =>
    Result.map(checkRow(typed, limit), (edited) => keepSpelling(JsonText.trusted(stored), edited).text),
  bytes: utf8Length,
  limit,
  body: (updatedAt, stored, content) => saveBody(updatedAt, JsonText.trusted(stored), JsonText.trusted(content)),
  ofVersion: ({ row }) => row && ownFields(row.text).text,
  file: { name: fileName(table, id.slice(0, 8)) + ".json", type: "application/json" }
})

const textSubject = ({ field, id, limits, other_bytes, table }: TextLink): Subject => {
  const limit = limits.row_bytes
  const bytes = (content: string) => other_bytes + utf8Length(print(content))
  return {
    content: (data) => (data.kind === "text" ? data.value : ""),
    updatedAt: (data) => (data.kind === "text" ? data.updated_at : ""),
    typed: withLineFeeds,
    check: (typed, stored) => {
      const content = withStoredEndings(stored, typed)
      const size = bytes(content)
      return size > limit ? Result.fail(tooLarge(size, limit)) : Result.succeed(content)
    },
    bytes,
    limit,
    body: (updatedAt, _stored, content) =>
      print({ updated_at: updatedAt, patch: JsonText.trusted(`{${print(field)}:${print(content)}}`) }),
    ofVersion: ({ value }) => value,
    file: { name: fileName(table, id.slice(0, 8), field) + ".txt", type: "text/plain;charset=utf-8" }
  }
}

export const subjectOf = (data: EditableLink): Subject =>
  data.kind === "row" ? rowSubject(data.table, data.id, data.limits.row_bytes) : textSubject(data)
