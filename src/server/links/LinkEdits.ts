import { Context, Effect, Layer, Option } from "effect"
import { invalid } from "../../domain/InvalidPlaces.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { members } from "../../domain/json/Members.ts"
import type { Bounds, EnvelopeShape } from "../../domain/json/ParseEnvelope.ts"
import { parseFairly } from "../../domain/json/ParseFairly.ts"
import { print } from "../../domain/json/Print.ts"
import { readTree } from "../../domain/json/ReadTree.ts"
import { jsonProblem } from "../../domain/JsonProblem.ts"
import { LinkStorageLimit, StorageLimit, VersionNotFound } from "../../domain/Problem.ts"
import { rowOf, rowText, timeOf, timeText, type Row } from "../../domain/Row.ts"
import { systemFieldBytes } from "../../domain/Write.ts"
import { Settings } from "../Config.ts"
import type { FoundLink } from "./LinksRepo.ts"
import type { WriteAnswer } from "../tables/EvaluateWrites.ts"
import { Rows } from "../tables/Rows.ts"
import { RowWrites, type Caller } from "../tables/RowWrites.ts"
import { Versions } from "../versions/Versions.ts"
import { contentOf, fieldOf, rowDeleted, type OpenedLink, type RowTarget } from "./LinkContent.ts"

/** A link with which a row, or one text field of it, may be edited. */
export interface EditableLink extends OpenedLink {
  readonly target: RowTarget
}

/** Whether a link may change what it leads to: not with the token of its download, and not for a query. */
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

/** The members of a body that is an object with these, and with no others. */
const readBody = Effect.fnUntraced(function* (
  body: string,
  members: ReadonlyMap<string, EnvelopeShape>,
  known: ReadonlyArray<string>,
  bounds: Bounds
) {
  const { issue, value } = yield* parseFairly(body, { kind: "object", members, rest }, bounds)
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

/** What a restore makes of the row: the fields of the archived one, or the one text field that the link leads to. */
const fieldsOf = (target: RowTarget, archived: Row): JsonText | undefined => {
  if (target.kind === "row") return archived.data
  const field = fieldOf(archived, target.field)
  return field?.value[0] === '"' ? JsonText.trusted(`{${field.rawName}:${field.value}}`) : undefined
}

/** What an account holds is not told to whoever has a link into it. */
const withoutTotals = <E extends { readonly _tag: string }>(failure: E) =>
  failure instanceof StorageLimit
    ? new LinkStorageLimit({ detail: "The account has no room for a longer text.", limit: failure.limit })
    : failure

/** What people change through links. Every change is a write of the link's, in the row's versions as any other. */
export class LinkEdits extends Context.Service<LinkEdits>()("agent-memory/server/links/LinkEdits", {
  make: Effect.gen(function* () {
    const writes = yield* RowWrites
    const versions = yield* Versions
    const rows = yield* Rows
    const { limits } = yield* Settings
    const bounds: Bounds = { limits: { ...limits }, textLength: limits.rowBytes + systemFieldBytes }

    /** What the link leads to after a write, from the write's own answer. */
    const written = ({ target }: EditableLink, { body }: WriteAnswer) =>
      Effect.fromResult(contentOf(target, rowOf(JsonText.trusted(members(body)[0]!.value))))

    const callerOf = ({ accountId, id, makerName, now, target }: EditableLink): Caller => ({
      accountId,
      table: target.table,
      changedBy: { kind: "link", id, name: makerName },
      now: now.getTime(),
      idempotencyKey: undefined
    })

    /** Saves `{updated_at, patch}` or, of a whole row, `{updated_at, row}`; refused if the row changed since. */
    const save = Effect.fn("LinkEdits.save")(function* (link: EditableLink, body: string) {
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
      return yield* written(link, yield* writes.write(callerOf(link), operation).pipe(Effect.mapError(withoutTotals)))
    })

    /** What is kept of the row's past, newest first: nothing of a row that was deleted, whose link has ended with it. */
    const archive = Effect.fnUntraced(function* (link: EditableLink) {
      const { accountId, target } = link
      const row = yield* rows.find(link, target.table, target.id)
      if (Option.isNone(row)) return yield* rowDeleted()
      return yield* versions.read(accountId, target.table, target.id)
    })

    /** Makes an archived version the row again, or its text the text of the link's field; not of a row that was deleted. */
    const restore = Effect.fn("LinkEdits.restore")(function* (link: EditableLink, body: string) {
      const { target } = link
      const { version } = yield* readBody(body, restoreMembers, [...restoreMembers.keys()], bounds)
      if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
        return yield* invalid("/version", "must be a whole number from 1")
      }
      // The room of the versions is given back before the write asks for its own: who holds room for an answer may not.
      const archived = Effect.map(archive(link), (versions) => versions.find((one) => one.version === version))
      const found = yield* Effect.scoped(archived)
      const fields = found === undefined ? undefined : fieldsOf(target, found.row)
      if (fields === undefined) {
        return yield* new VersionNotFound({ detail: "There is no such version, or it is no longer kept." })
      }
      // A save finds live rows only, so that a row that is deleted meanwhile stays so.
      const operation = {
        action: "save",
        id: target.id,
        updatedAt: undefined,
        fields,
        replaces: target.kind === "row",
        textField: target.kind === "text" ? target.field : undefined,
        restores: true
      } as const
      return yield* written(link, yield* writes.write(callerOf(link), operation).pipe(Effect.mapError(withoutTotals)))
    })

    /** `{versions}`, newest first: of a text those in which the field holds one. Who changed it is told by kind and name. */
    const history = Effect.fn("LinkEdits.history")(function* (link: EditableLink) {
      const { target } = link
      const shown = (yield* archive(link)).flatMap(({ archivedAt, changedBy, expiresAt, operation, row, version }) => {
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
