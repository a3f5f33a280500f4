import { Result } from "effect"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"
import type { Editor } from "./Editing.ts"
import { withLineFeeds, withStoredEndings } from "../../domain/LineEndings.ts"
import type { EditableLink, TextLink, Version } from "./LinkClient.ts"
import { checkRow, stringOf, tooLarge } from "../../domain/TypedRow.ts"
import { keepSpelling, memberTexts } from "../../domain/RowMerge.ts"
import { ownFields, saveBody } from "./RowText.ts"

/**
 * What a row and a text field have in common for editing. Content is what is stored: a row's own fields as compact JSON,
 * or the field's text. What is typed may be unfinished.
 */
export interface Subject {
  readonly content: (data: EditableLink) => string
  readonly updatedAt: (data: EditableLink) => string
  /** What an editor starts with. */
  readonly typed: (content: string) => string
  /** The content of the typed text, or why it can't be saved. */
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

/** What is stored, what is typed over it, and whether the two differ. */
export class Content {
  readonly #subject: Subject
  readonly #editor: Editor
  #data: EditableLink
  #stored: string
  #updatedAt: string
  /** What the editor had when it last showed what is stored. */
  #shown: string

  constructor(data: EditableLink, subject: Subject, editor: Editor) {
    this.#subject = subject
    this.#editor = editor
    this.#data = data
    this.#stored = subject.content(data)
    this.#updatedAt = subject.updatedAt(data)
    this.#shown = editor.typed()
  }

  get data(): EditableLink {
    return this.#data
  }

  /** What the next save is based on. */
  get stored(): string {
    return this.#stored
  }

  /** When that was stored. */
  get updatedAt(): string {
    return this.#updatedAt
  }

  /** What would be saved, or why it can't be. */
  checked(): Result.Result<string, string> {
    return this.#subject.check(this.#editor.typed(), this.#stored)
  }

  isChanged(): boolean {
    if (this.#editor.typed() === this.#shown) return false
    const checked = this.checked()
    return Result.isFailure(checked) || checked.success !== this.#stored
  }

  draft(): Draft {
    return { updatedAt: this.#updatedAt, stored: this.#stored, typed: this.#editor.typed() }
  }

  /** Bases the next save on what a draft was typed over. */
  rebase({ stored, updatedAt }: Draft): void {
    this.#stored = stored
    this.#updatedAt = updatedAt
  }

  /** Takes a newer state as what is stored; what was typed meanwhile stays in the editor. */
  adopt(data: EditableLink): void {
    this.#data = data
    this.#stored = this.#subject.content(data)
    this.#updatedAt = this.#subject.updatedAt(data)
    this.#shown = this.#subject.typed(this.#stored)
  }

  /** Puts what is stored in the place of what was typed. */
  showStored(): void {
    this.#editor.show(this.#subject.typed(this.#stored))
    this.#shown = this.#editor.typed()
  }
}

/** Text that was typed and not saved, with what it was typed over. */
export interface Draft {
  /** Of the stored row that the editor began with. */
  readonly updatedAt: string
  readonly stored: string
  readonly typed: string
}

/**
 * Keeps a draft in this tab only, over reloads and over a fresh link to the same row; it is gone with the tab. The name
 * says what is edited, never by which link, because the link's token is a secret.
 */
export class Drafts {
  readonly #name: string

  constructor(...what: ReadonlyArray<string>) {
    this.#name = "draft:" + JSON.stringify(what)
  }

  read(): Draft | undefined {
    try {
      const kept = sessionStorage.getItem(this.#name)
      return kept === null ? undefined : (JSON.parse(kept) as Draft)
    } catch {
      return undefined
    }
  }

  /** Storage may be full or forbidden; then only a reload loses the text, so this says nothing. */
  keep(draft: Draft): void {
    try {
      sessionStorage.setItem(this.#name, JSON.stringify(draft))
    } catch {}
  }

  drop(): void {
    try {
      sessionStorage.removeItem(this.#name)
    } catch {}
  }
}
