import { Context, Effect, Layer, Option } from "effect"
import { jsonProblem } from "../../domain/ExactJson.ts"
import { invalid, VersionNotFound } from "../../domain/Problem.ts"
import { JsonText, print, readTree } from "../../domain/json/JsonText.ts"
import { members } from "../../domain/json/Members.ts"
import { type Bounds, type EnvelopeShape, parseInTurns } from "../../domain/json/ParseEnvelope.ts"
import { inTurns } from "../../domain/Turns.ts"
import { rowOf, rowText, timeOf, timeText, type Row } from "../../domain/Row.ts"
import { systemFieldBytes } from "../../domain/RowInput.ts"
import { Settings } from "../config/Settings.ts"
import type { FoundLink } from "./Links.ts"
import type { WriteResult } from "../tables/engine/Evaluation.ts"
import { Rows } from "../tables/Rows.ts"
import { Writes } from "../tables/Writes.ts"
import { Versions } from "../versions/Versions.ts"
import { contentOf, fieldOf, rowDeleted, type OpenedLink, type RowTarget } from "./LinkContent.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** A link with which a row, or one text field of it, may be edited. */
interface EditableLink extends OpenedLink {
  readonly target: RowTarget
}

/** Whether a link can change its content: not with the download token, and not if it leads to a query. */
export const isEditable = <Link extends FoundLink>(link: Link): link is Link & { readonly target: RowTarget } =>
  link.isViewer && link.target.kind !== "query"

const scalar = { kind: "scalar" } as const
const text = { kind: "text" } as const
const rest = { kind: "unknown" } as const
const saveMembers = new Map<string, EnvelopeShape>([
  ["updated_at", scalar],
  ["patch", text],
  ["row", text]
])
const restoreMembers = new Map<string, EnvelopeShape>([["version", scalar]])

/** Reads the members of a body that is an object with only the known members. */
const readBody = Effect.fnUntraced(function* (
  body: string,
  members: ReadonlyMap<string, EnvelopeShape>,
  known: ReadonlyArray<string>,
  bounds: Bounds
) {
  const { issue, value } = yield* inTurns(parseInTurns(body, { kind: "object", members, rest }, bounds))
  if (issue !== undefined) return yield* jsonProblem(issue, "")
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof JsonText) {
    return yield* invalid("", "must be a JSON object")
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    return yield* invalid(`/${unknown.slice(0, 100)}`, `is not known here; known are ${known.join(", ")}`)
  }
  return value as Record<string, unknown>
})

/** The fields that a restore writes: those of the archived row, or only the text field that the link leads to. */
const fieldsOf = (target: RowTarget, archived: Row): JsonText | undefined => {
  if (target.kind === "row") return archived.data
  const field = fieldOf(archived, target.field)
  return field?.value[0] === '"' ? JsonText.trusted(`{${field.rawName}:${field.value}}`) : undefined
}

/** Changes through links. Every change is a write by the link, and is recorded in the row's versions like any other. */
export class LinkEdits extends Context.Service<LinkEdits>()("agent-memory/server/links/LinkEdits", {
  make: Effect.gen(function* () {
    const writes = yield* Writes
    const versions = yield* Versions
    const rows = yield* Rows
    const { limits } = yield* Settings
    const bounds: Bounds = { limits: { ...limits }, textLength: limits.rowBytes + systemFieldBytes }

    /** The link's content after a write, from the write's result. */
    const written = ({ target }: EditableLink, { body }: WriteResult) =>
      Effect.fromResult(contentOf(target, rowOf(JsonText.trusted(members(body)[0]!.value))))

    /** Saves `{updated_at, patch}`, or for a whole row also `{updated_at, row}`. Fails if the row has changed since. */
    const save = traced("LinkEdits.save")(function* (link: EditableLink, body: string) {
      const { target } = link
      const isText = target.kind === "text"
      const known = isText ? ["updated_at", "patch"] : [...saveMembers.keys()]
      const value = yield* readBody(body, saveMembers, known, bounds)
      const updatedAt = typeof value["updated_at"] === "string" ? timeOf(value["updated_at"]) : undefined
      if (updatedAt === undefined) {
        return yield* invalid("/updated_at", "must be the updated_at of the row that was edited")
      }
      const [patch, row] = [value["patch"] as JsonText | undefined, value["row"] as JsonText | undefined]
      const fields = patch ?? row
      if (fields === undefined || (patch !== undefined && row !== undefined)) {
        return yield* invalid("", isText ? "must have a patch" : "must have either a patch or a row")
      }
      if (isText) {
        const [field, ...others] = members(fields)
        if (field?.name !== target.field || others.length > 0 || field.value[0] !== '"') {
          return yield* invalid("/patch", "must set the field of this link, and no other, to a string")
        }
      }
      const operation = {
        action: "save",
        id: target.id,
        updatedAt,
        fields,
        replaces: patch === undefined,
        textField: isText ? target.field : undefined,
        restores: false
      } as const
      return yield* written(link, yield* writes.write(link.actor, { table: target.table }, operation))
    })

    /** The row's versions, newest first. Fails for a deleted row, with which the link has ended. */
    const archive = Effect.fnUntraced(function* (link: EditableLink) {
      const { actor, target } = link
      const row = yield* rows.find(actor, target.table, target.id)
      if (Option.isNone(row)) return yield* rowDeleted()
      return yield* versions.read(actor, target.table, target.id)
    })

    /**
     * Restores an archived version of the row, or of the link's field; with the number of the write, if that changed anything.
     * Fails for a deleted row.
     */
    const restore = traced("LinkEdits.restore")(function* (link: EditableLink, body: string) {
      const { target } = link
      const { version } = yield* readBody(body, restoreMembers, [...restoreMembers.keys()], bounds)
      if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
        return yield* invalid("/version", "must be a whole number from 1")
      }
      // The memory of the versions is released before the write reserves its own, to keep the order that `Room` requires.
      const archived = Effect.map(archive(link), ({ versions }) => versions.find((one) => one.version === version))
      const found = yield* Effect.scoped(archived)
      const fields = found === undefined ? undefined : fieldsOf(target, found.row)
      if (fields === undefined) {
        return yield* new VersionNotFound({ detail: "This version does not exist or is no longer kept." })
      }
      // A save only finds live rows, so a row that is deleted meanwhile stays deleted.
      const operation = {
        action: "save",
        id: target.id,
        updatedAt: undefined,
        fields,
        replaces: target.kind === "row",
        textField: target.kind === "text" ? target.field : undefined,
        restores: true
      } as const
      const result = yield* writes.write(link.actor, { table: target.table }, operation)
      return { content: yield* written(link, result), change: result.change }
    })

    /** `{versions}`, newest first; for a text field, those in which it is a string. `changed_by` has only kind and name. */
    const history = traced("LinkEdits.history")(function* (link: EditableLink) {
      const { target } = link
      const { versions } = yield* archive(link)
      const shown = versions.flatMap(({ archivedAt, changedBy, expiresAt, operation, row, version }) => {
        const field = target.kind === "text" ? fieldOf(row, target.field) : undefined
        if (target.kind === "text" && field?.value[0] !== '"') return []
        const { kind, name } = readTree(changedBy.text, Number) as { readonly kind: string; readonly name: string }
        const times = { archived_at: timeText(archivedAt), expires_at: timeText(expiresAt) }
        const content = field === undefined ? { row: rowText(row) } : { value: JsonText.trusted(field.value) }
        return [{ version, operation, changed_by: { kind, name }, ...times, ...content }]
      })
      return JsonText.trusted(print({ versions: shown }))
    })

    return { save, restore, history }
  })
}) {
  static readonly layer = Layer.effect(LinkEdits, LinkEdits.make)
}
