import { create } from "content-disposition"
import { Context, Effect, Layer, Option, Result } from "effect"
import type { Actor } from "../../domain/Actor.ts"
import { type JsonText, print } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { type Member, members } from "../../domain/json/Members.ts"
import type { LinkTarget } from "../../domain/Link.ts"
import { FieldNotFound, FieldNotText, NotFound, RowNotFound } from "../../domain/Problem.ts"
import { noFields, parseMatching, parseSort } from "../../domain/Query.ts"
import { cursorAfter } from "../../domain/query/Cursor.ts"
import { selectionOf, shownTexts, type Selection } from "../../domain/query/Fields.ts"
import { isRowId, type Row, rowText, systemFields } from "../../domain/Row.ts"
import { inTurns } from "../../domain/Turns.ts"
import { readCursor, Rows } from "../tables/Rows.ts"
import { traced } from "../telemetry/Telemetry.ts"
import type { FoundLink } from "./Links.ts"

// Each language with its file extension, and the other words for it. Browsers run HTML, SVG and XML files from disk, so those
// get the extension of plain text.
const languages: Readonly<Record<string, { readonly ending: string; readonly words: string }>> = {
  markdown: { ending: "md", words: "md mdx text/markdown text/x-markdown" },
  json: { ending: "json", words: "jsonc json5 jsonl application/json" },
  yaml: { ending: "yaml", words: "yml application/yaml application/x-yaml text/yaml text/x-yaml" },
  toml: { ending: "toml", words: "application/toml" },
  shell: { ending: "sh", words: "sh bash zsh fish ksh dash command shellscript text/x-sh application/x-sh" },
  powershell: { ending: "ps1", words: "pwsh ps1" },
  javascript: { ending: "js", words: "js mjs cjs node text/javascript application/javascript" },
  jsx: { ending: "jsx", words: "" },
  typescript: { ending: "ts", words: "ts mts cts text/typescript application/typescript" },
  tsx: { ending: "tsx", words: "" },
  python: { ending: "py", words: "py python3 text/x-python" },
  css: { ending: "css", words: "scss less text/css" },
  html: { ending: "txt", words: "htm vue svelte text/html" },
  xml: { ending: "txt", words: "svg text/xml application/xml image/svg+xml" },
  sql: { ending: "sql", words: "postgres postgresql mysql sqlite application/sql" },
  go: { ending: "go", words: "golang" },
  rust: { ending: "rs", words: "rs" },
  java: { ending: "java", words: "" },
  kotlin: { ending: "kt", words: "kt" },
  c: { ending: "c", words: "h" },
  cpp: { ending: "cpp", words: "c++ cc cxx hpp" },
  csharp: { ending: "cs", words: "c# cs" },
  ruby: { ending: "rb", words: "rb" },
  php: { ending: "php", words: "" },
  lua: { ending: "lua", words: "" },
  swift: { ending: "swift", words: "" },
  dockerfile: { ending: "dockerfile", words: "docker" },
  properties: { ending: "ini", words: "ini env dotenv conf" },
  diff: { ending: "diff", words: "patch text/x-diff" }
}

const byWord = new Map(
  Object.entries(languages).flatMap(([name, { ending, words }]) =>
    `${name} ${ending === "txt" ? "" : ending} ${words}`
      .split(/ +/)
      .flatMap((word) => (word === "" ? [] : [[word, name] as const]))
  )
)

const languageOfWord = (word: string): string | undefined =>
  byWord.get(word.trim().toLowerCase().split(";", 1)[0]!.trim())

const languageFields = ["language", "format", "media_type", "shell", "type"]

/** The language of a row's text, from its field `language`, `format`, `media_type`, `shell` or `type`, in this order. */
export const languageOf = (row: Row): string | undefined => {
  const fields = new Map(members(row.data).map(({ name, value }) => [name, value]))
  for (const name of languageFields) {
    const value = fields.get(name)
    // The name of a language is short.
    if (value === undefined || value[0] !== '"' || value.length > 100) continue
    const language = languageOfWord(decodeString(value))
    if (language !== undefined) return language
  }
  return undefined
}

// A heading before an empty line, a fence, or a link. Other text rarely has these.
const markdown = /^#{1,6} \S[^\n]*\n[ \t\r]*\n|^(?:```|~~~)|\[[^\][\n]+\]\([^()\s]+\)/m

/** The extension of a file (`.md`), by the language of its text, else by the name of its field, else by the text. */
export const endingOf = (language: string | undefined, field: string, text: string): string => {
  const named = language ?? languageOfWord(field) ?? languageOfWord(/\.([^.]+)$/.exec(field)?.[1] ?? "")
  const known = named ?? (markdown.test(text.slice(0, 10_000)) ? "markdown" : undefined)
  return `.${known === undefined ? "txt" : languages[known]!.ending}`
}

/** A link that was opened within its limits, and the actor of its requests. */
export interface OpenedLink extends FoundLink {
  readonly actor: Actor
}

/** An opened link to a query. */
export interface OpenedQuery {
  readonly actor: Actor
  readonly target: QueryTarget
}

/** A row, or a text field of one, as it is now. */
export type EditableContent =
  | { readonly kind: "row"; readonly table: string; readonly row: Row }
  | { readonly kind: "text"; readonly table: string; readonly row: Row; readonly field: Member }

/** What a link leads to, as it is now. */
export type LinkContent = EditableContent | QueryContent

/** A page of the rows of a query. */
export interface QueryContent {
  readonly kind: "query"
  readonly target: QueryTarget
  /** The rows as their readers see them. */
  readonly rows: ReadonlyArray<JsonText>
  readonly hasMore: boolean
  /** Leads to the next page, if there is one. */
  readonly nextCursor: string | undefined
}

/** The error for every URL of a link that is not valid. */
export const linkExpired = () =>
  new NotFound({
    detail: "This link has expired, was revoked, or never existed.",
    hint: "Ask for a new link with POST /v1/_row_links, /v1/_text_field_links or /v1/_query_links."
  })

/** The error for every URL of a link whose row was deleted. */
export const rowDeleted = () =>
  new RowNotFound({
    detail: "The row was deleted.",
    hint: "Ask the person or program that created the link to restore the row. Then the link works again until it expires."
  })

/** The target of a link to the rows of a query. */
export type QueryTarget = Extract<LinkTarget, { readonly kind: "query" }>

/** The target of a link to one row. */
export type RowTarget = Exclude<LinkTarget, { readonly kind: "query" }>

/** A field of a row other than its system fields. */
export const fieldOf = (row: Row, name: string): Member | undefined =>
  systemFields.has(name) ? undefined : members(row.data).find((member) => member.name === name)

/** What a link to this row, or to a field of it, leads to. */
export const contentOf = (
  target: RowTarget,
  row: Row
): Result.Result<EditableContent, FieldNotFound | FieldNotText> => {
  const { table } = target
  if (target.kind === "row") return Result.succeed({ kind: "row", table, row })
  const field = fieldOf(row, target.field)
  if (field === undefined) return Result.fail(new FieldNotFound({ detail: "The row no longer has this field." }))
  if (field.value[0] !== '"') return Result.fail(new FieldNotText({ detail: "The field is no longer text." }))
  return Result.succeed({ kind: "text", table, row, field })
}

const selectionIn = ({ fields }: QueryTarget): Selection | undefined =>
  fields === undefined ? undefined : Result.getOrThrow(selectionOf(fields, ""))

const notGiven = () =>
  new RowNotFound({ detail: "This link has no such row: it was deleted, or was changed so that it no longer matches." })

/** Reads the content of links. The scope holds the memory that is reserved for it. */
export class LinkContents extends Context.Service<LinkContents>()(
  "agent-memory/server/links/LinkContent/LinkContents",
  {
    make: Effect.gen(function* () {
      const rows = yield* Rows

      // A link may be older than a limit that its filter exceeds.
      const filterOf = (target: QueryTarget) =>
        Effect.mapError(Effect.fromResult(parseMatching(target, "/")), linkExpired)

      const query = Effect.fnUntraced(function* (actor: Actor, target: QueryTarget, cursor: string | undefined) {
        const { limit, sort, table } = target
        const bound = { table, filter: target.filter?.text, search: target.search, sort }
        const after = yield* readCursor(cursor, bound)
        const filter = yield* filterOf(target)
        const { hasMore, rows: found } = yield* rows.select(actor, table, {
          filter,
          sort: sort === undefined ? undefined : parseSort(sort),
          limit,
          after
        })
        return {
          kind: "query",
          target,
          rows: yield* inTurns(shownTexts(found, selectionIn(target))),
          hasMore,
          nextCursor: hasMore ? cursorAfter(bound, found, after) : undefined
        } as const satisfies QueryContent
      })

      /** Reads the content of a link; of a query the page after a cursor, or the first page. */
      const read = traced("LinkContents.read")(function* (link: OpenedLink, cursor?: string) {
        const { target } = link
        if (target.kind === "query") return yield* query(link.actor, target, cursor)
        const { id, table } = target
        const row = yield* rows.find(link.actor, table, id)
        if (Option.isSome(row)) return yield* Effect.fromResult(contentOf(target, row.value))
        return yield* rowDeleted()
      })

      /** How many rows a link's query gives on all its pages. */
      const count = traced("LinkContents.count")(function* ({ actor, target }: OpenedQuery) {
        return yield* rows.matched(actor, target.table, yield* filterOf(target))
      })

      /** One row of those that a link's query gives, as its readers see it: with the query's fields. */
      const row = traced("LinkContents.row")(function* ({ actor, target }: OpenedQuery, id: string) {
        const asked = (yield* filterOf(target)) ?? noFields
        if (!isRowId(id) || (asked.id !== undefined && asked.id !== id)) return yield* notGiven()
        const filter = { ...asked, isEmpty: false, id }
        const found = yield* rows.select(actor, target.table, { filter, sort: undefined, limit: 1 })
        const [text] = yield* inTurns(shownTexts(found.rows, selectionIn(target)))
        return text ?? (yield* notGiven())
      })

      return { read, count, row }
    })
  }
) {
  static readonly layer = Layer.effect(this, this.make)
}

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
