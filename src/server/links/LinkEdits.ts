import { Context, Effect, Layer, Option } from "effect"
import { jsonProblem } from "../../domain/ExactJson.ts"
import { invalid, VersionNotFound, withMembers } from "../../domain/Problem.ts"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import { members } from "../../domain/json/Members.ts"
import { type Bounds, type EnvelopeShape, parseInTurns } from "../../domain/json/ParseEnvelope.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"
import { inTurns } from "../../domain/Turns.ts"
import { rowOf, rowText, timeOf, timeText, type Row } from "../../domain/Row.ts"
import { systemFieldBytes } from "../../domain/RowInput.ts"
import { Settings } from "../config/Settings.ts"
import type { FoundLink } from "./Links.ts"
import { Rows } from "../tables/Rows.ts"
import { Writes } from "../tables/Writes.ts"
import { Versions } from "../versions/Versions.ts"
import {
  contentOf,
  fieldOf,
  languageOf,
  rowDeleted,
  type EditableContent,
  type OpenedLink,
  type RowTarget
} from "./LinkContent.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** A link with which a row, or one text field of it, may be edited. */
export interface EditableLink extends OpenedLink {
  readonly target: RowTarget
}

/** Whether a link can change its content: not with the download token, and not if it leads to a query. */
export const isEditable = <Link extends FoundLink>(link: Link): link is Link & { readonly target: RowTarget } =>
  link.isViewer && link.target.kind !== "query"

const saveShape: EnvelopeShape = {
  kind: "object",
  members: new Map<string, EnvelopeShape>([
    ["updated_at", { kind: "scalar" }],
    ["patch", { kind: "text" }],
    ["row", { kind: "text" }]
  ]),
  rest: { kind: "unknown" }
}

/** What of a row a link leads to: all of its own fields, or only the text; undefined if that is no text. */
export const fieldsOf = (target: RowTarget, row: Row): JsonText | undefined => {
  if (target.kind === "row") return row.data
  const field = fieldOf(row, target.field)
  return field?.value[0] === '"' ? JsonText.trusted(`{${field.rawName}:${field.value}}`) : undefined
}

/** The row in the result of a write that changes one. */
export const writtenRow = (body: JsonText): Row => rowOf(JsonText.trusted(members(body)[0]!.value))

/** What programs that save through a link are answered: the row or text as exact JSON, and when the link expires. */
const dataText = ({ expiresAt, now }: FoundLink, content: EditableContent, rowBytes: number): JsonText => {
  const { kind, row, table } = content
  const own =
    kind === "row"
      ? { row: rowText(row) }
      : {
          field: content.field.name,
          value: JsonText.trusted(content.field.value),
          updated_at: timeText(row.updatedAt),
          language: languageOf(row) ?? null,
          other_bytes: row.data.bytes - utf8Length(content.field.value)
        }
  const times = { expires_at: timeText(expiresAt.getTime()), server_time: timeText(now.getTime()) }
  const data = { kind, table, id: row.id, ...own, editable: true, ...times, limits: { row_bytes: rowBytes } }
  return JsonText.trusted(print(data))
}

/** Changes through links. Every change is a write by the link, and is recorded in the row's versions like any other. */
export class LinkEdits extends Context.Service<LinkEdits>()("agent-memory/server/links/LinkEdits", {
  make: Effect.gen(function* () {
    const writes = yield* Writes
    const versions = yield* Versions
    const rows = yield* Rows
    const { limits } = yield* Settings
    const bounds: Bounds = { limits: { ...limits }, textLength: limits.rowBytes + systemFieldBytes }

    /** The row of a link as it is. A link ends with its row. */
    const row = Effect.fnUntraced(function* ({ actor, target }: EditableLink) {
      const found = yield* rows.find(actor, target.table, target.id)
      return Option.isSome(found) ? found.value : yield* rowDeleted()
    })

    /** Writes the fields of a link's row, or its text. Finds live rows only: one that is deleted meanwhile stays deleted. */
    const write = Effect.fnUntraced(function* (
      { actor, target }: EditableLink,
      edit: {
        readonly updatedAt: number | undefined
        readonly fields: JsonText
        readonly replaces: boolean
        readonly restores: boolean
      }
    ) {
      const textField = target.kind === "text" ? target.field : undefined
      const operation = { action: "save", id: target.id, textField, ...edit } as const
      const { body, change } = yield* writes.write(actor, { table: target.table }, operation)
      return { content: yield* Effect.fromResult(contentOf(target, writtenRow(body))), change }
    })

    /**
     * Saves `{updated_at, patch}`, or for a whole row also `{updated_at, row}`, and tells what the link then leads to. Fails with
     * `current` if the row has changed since.
     */
    const save = traced("LinkEdits.save")(function* (link: EditableLink, body: string) {
      const { target } = link
      const isText = target.kind === "text"
      const { issue, value: read } = yield* inTurns(parseInTurns(body, saveShape, bounds))
      if (issue !== undefined) return yield* jsonProblem(issue, "")
      if (typeof read !== "object" || read === null || Array.isArray(read) || read instanceof JsonText) {
        return yield* invalid("", "must be a JSON object")
      }
      const known = ["updated_at", "patch", ...(isText ? [] : ["row"])]
      const unknown = Object.keys(read).find((name) => !known.includes(name))
      if (unknown !== undefined) {
        return yield* invalid(`/${unknown.slice(0, 100)}`, `is not known here; known are ${known.join(", ")}`)
      }
      const sent = read as { readonly updated_at?: unknown; readonly patch?: JsonText; readonly row?: JsonText }
      const updatedAt = typeof sent.updated_at === "string" ? timeOf(sent.updated_at) : undefined
      if (updatedAt === undefined) {
        return yield* invalid("/updated_at", "must be the updated_at of the row that was edited")
      }
      const fields = sent.patch ?? sent.row
      if (fields === undefined || (sent.patch !== undefined && sent.row !== undefined)) {
        return yield* invalid("", isText ? "must have a patch" : "must have either a patch or a row")
      }
      if (isText) {
        const [field, ...others] = members(fields)
        if (field?.name !== target.field || others.length > 0 || field.value[0] !== '"') {
          return yield* invalid("/patch", "must set the field of this link, and no other, to a string")
        }
      }
      const { content } = yield* write(link, {
        updatedAt,
        fields,
        replaces: sent.patch === undefined,
        restores: false
      }).pipe(
        Effect.catchTag("EditConflict", (conflict) =>
          Effect.gen(function* () {
            const current = yield* Effect.fromResult(contentOf(target, yield* row(link)))
            return yield* withMembers(conflict, { current: dataText(link, current, limits.rowBytes) })
          })
        )
      )
      return dataText(link, content, limits.rowBytes)
    })

    /**
     * Restores an archived version of the row, or of the link's field; with the number of the write, if that changed anything.
     * Fails for a deleted row.
     */
    const restore = traced("LinkEdits.restore")(function* (link: EditableLink, version: number) {
      const { actor, target } = link
      yield* row(link)
      // The memory of the versions is released before the write reserves its own, to keep the order that `Room` requires.
      const { versions: kept } = yield* Effect.scoped(versions.read(actor, target.table, target.id))
      const archived = kept.find((one) => one.version === version)
      const fields = archived && fieldsOf(target, archived.row)
      if (fields === undefined) {
        return yield* new VersionNotFound({ detail: "This version does not exist or is no longer kept." })
      }
      return yield* write(link, { updatedAt: undefined, fields, replaces: target.kind === "row", restores: true })
    })

    return { row, save, restore }
  })
}) {
  static readonly layer = Layer.effect(LinkEdits, LinkEdits.make)
}
