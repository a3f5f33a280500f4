import { Effect, Result } from "effect"
import type { Actor } from "../../domain/Actor.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { members, membersByName, readItems } from "../../domain/json/Members.ts"
import { noted } from "../tables/Notes.ts"
import { Rows } from "../tables/Rows.ts"
import type { WriteResult } from "../tables/engine/Evaluation.ts"
import { chosenBy, type SentDelete } from "../tables/operations/DeleteRows.ts"
import { requiredFilter } from "../tables/operations/OperationKind.ts"
import { maxIds, Room } from "./Results.ts"

/** Of so many added rows the ids are told unasked: of more they would cost a model more than the rows did. */
const fewIds = 20

/** The members that the service sets stand first in a row, so that its own fields need not be read. */
const systemFields = /^\{("id":"(?:[^"\\]|\\.)*"),"created_at":"[^"]*","updated_at":"[^"]*"/

const fieldsOf = (row: string): string => systemFields.exec(row)![0].slice(1)

/** The id of a row, as JSON. */
const idOf = (row: string): string => systemFields.exec(row)![1]!.slice('"id":'.length)

const idsOf = (rows: ReadonlyArray<string>): string => `[${rows.map(idOf).join()}]`

const valueOf = (json: JsonText, name: string): string => membersByName(json).get(name)!.value

/** The results of a batch, each with what makes an entry of another result for its operation. */
const resultsOf = (body: JsonText) =>
  readItems(valueOf(body, "results")).map((entry) => {
    const [index, action, result] = members(JsonText.trusted(entry)).map(({ value }) => value)
    return {
      entry,
      action: decodeString(action!),
      result: JsonText.trusted(result!),
      entryOf: (told: string) => `{"index":${index!},"action":${action!},"result":${told}}`
    }
  })

/** The answer of an add, as that of other writes to one row. */
export const asRow = (body: JsonText): JsonText => JsonText.trusted(`{"row":${body.text}}`)

/** The rows that a batch of adds stored: as many as one answer holds, and the ids of those that it leaves out. */
export const boundedAdds = (body: JsonText): JsonText => {
  const rows = resultsOf(body).map(({ result }) => result.text)
  const room = new Room()
  const fitting = room.rows(rows)
  const cut = fitting === rows.length ? "" : `,"ids":${idsOf(room.withIds(rows.slice(fitting)))},"has_more":true`
  return JsonText.trusted(`{"added":${rows.length},"rows":[${rows.slice(0, fitting).join()}]${cut}}`)
}

/** A body's note, as a member of another body. */
const noteOf = (body: JsonText): string => {
  const note = membersByName(body).get("note")
  return note === undefined ? "" : `,"note":${note.value}`
}

/** An update's answer as far as there is room for it; undefined where there is room for all of it. */
const updateWithin = (body: JsonText, room: Room): string | undefined => {
  const rows = readItems(valueOf(body, "rows"))
  const fitting = room.rows(rows)
  if (fitting === rows.length) return undefined
  const ids = idsOf(room.withIds(rows.slice(fitting)))
  const shown = rows.slice(0, fitting).join()
  return `{"updated":${rows.length},"rows":[${shown}],"ids":${ids},"has_more":true${noteOf(body)}}`
}

/** The same of a result of a batch. */
const resultWithin = (action: string, result: JsonText, room: Room): string | undefined => {
  switch (action) {
    case "add":
      return room.rows([result.text]) === 1 ? undefined : `{"id":${idOf(result.text)}}`
    case "upsert":
    case "update_row": {
      const row = valueOf(result, "row")
      if (room.rows([row]) === 1) return undefined
      const created = action === "upsert" ? `"created":${valueOf(result, "created")},` : ""
      return `{${created}"id":${idOf(row)}}`
    }
    case "update_where":
      return updateWithin(result, room)
    default:
      return undefined
  }
}

/** The answer of an update with as many rows as one answer holds, and the ids of those that it leaves out. */
export const boundedUpdate = (body: JsonText): JsonText => {
  const bounded = updateWithin(body, new Room())
  return bounded === undefined ? body : JsonText.trusted(bounded)
}

/** The results of a batch, with ids in the place of the rows that one answer has no room for. */
export const boundedBatch = (body: JsonText): JsonText => {
  const room = new Room()
  let isCut = false
  const results = resultsOf(body).map(({ action, entry, entryOf, result }) => {
    const short = resultWithin(action, result, room)
    if (short === undefined) return entry
    isCut = true
    return entryOf(short)
  })
  return isCut ? JsonText.trusted(`{"results":[${results.join()}],"has_more":true}`) : body
}

/** The members of a result, with what a row is known by in the place of each row, and of several their number and ids. */
const withoutRows = (result: JsonText, known: (row: string) => string): JsonText => {
  const parts = members(result).flatMap(({ name, value }) => {
    if (name === "row") return [known(value)]
    if (name === "updated") return []
    if (name !== "rows") return [`${JSON.stringify(name)}:${value}`]
    const rows = readItems(value)
    const more = rows.length > maxIds ? ',"has_more":true' : ""
    return [`"updated":${rows.length},"ids":${idsOf(rows.slice(0, maxIds))}${more}`]
  })
  return JsonText.trusted(`{${parts.join()}}`)
}

/** The receipt of an add, from the row that it stored: `id`, `created_at` and `updated_at`. */
export const addReceipt = (row: JsonText): JsonText => JsonText.trusted(`{${fieldsOf(row.text)}}`)

/** The receipt of a batch of adds. */
export const addsReceipt = (body: JsonText): JsonText => {
  const rows = resultsOf(body).map(({ result }) => result.text)
  return JsonText.trusted(`{"added":${rows.length}${rows.length > fewIds ? "" : `,"ids":${idsOf(rows)}`}}`)
}

/** The receipt of any other single write: its counts, and of a row its `id`, `created_at` and `updated_at`, of several their ids. */
export const receipt = (body: JsonText): JsonText => withoutRows(body, fieldsOf)

/** The receipt of a batch: of each operation its counts and the ids of its rows, whose times are all the same. */
export const batchReceipt = (body: JsonText): JsonText => {
  const known = (row: string) => `"id":${idOf(row)}`
  const results = resultsOf(body).map(({ action, entryOf, result }) =>
    entryOf(action === "add" ? `{${known(result.text)}}` : withoutRows(result, known).text)
  )
  return JsonText.trusted(`{"results":[${results.join()}]}`)
}

type Shape = (body: JsonText) => JsonText

/** A write's answer with the rows where they are asked for, else its receipt. */
export const shownBy = ({ returnRows }: { readonly returnRows?: boolean }, rows: Shape, brief: Shape): Shape =>
  returnRows === true ? rows : brief

/** The same of a write to one row, which always fits. */
export const rowOrReceipt = (args: { readonly returnRows?: boolean }): Shape => shownBy(args, (body) => body, receipt)

/** A result that says that nothing was changed. */
export const asDryRun = ({ text }: JsonText): JsonText => JsonText.trusted(`{"dry_run":true,${text.slice(1)}`)

/**
 * The result of a write: the object that `shape` makes of its answer, with the number of its `change` if it changed anything,
 * and `replayed` where the answer is that of an earlier call with the same idempotency key.
 */
export const written = <E, R>(
  write: Effect.Effect<WriteResult, E, R>,
  shape: Shape = (body) => body
): Effect.Effect<JsonText, E, R> =>
  Effect.map(write, ({ body, change, replayed }) => {
    const result = shape(body)
    if (change === undefined && !replayed) return result
    const told = change === undefined ? "" : `,"change":${change}`
    return JsonText.trusted(`${result.text.slice(0, -1)}${told}${replayed ? ',"replayed":true' : ""}}`)
  })

/** What a dry run tells of the rows that match: how many there are, and the ids of the first, as JSON. */
const dryAnswer = (matched: number, ids: string, more = "") =>
  JsonText.trusted(`{"dry_run":true,"matched":${matched},"ids":${ids},"has_more":${matched > maxIds}${more}}`)

/** What an update that was evaluated, but not stored, would have changed. */
export const dryUpdate = (body: JsonText): JsonText => {
  const rows = readItems(valueOf(body, "rows"))
  return dryAnswer(rows.length, idsOf(rows.slice(0, maxIds)), noteOf(body))
}

/** What an update would change that is refused as several rows match: nothing, until it says that it means them all. */
export const dryRefusedUpdate = Effect.fnUntraced(function* (
  actor: Actor,
  { table, ...asked }: { readonly table: string; readonly filter: JsonText; readonly search?: string }
) {
  const rows = yield* Rows
  const filter = Result.getOrThrow(requiredFilter(asked, ""))
  const { ids, matched } = yield* rows.ids(actor, table, filter, maxIds)
  return dryAnswer(matched, JSON.stringify(ids), ',"needs_allow_multiple":true')
})

/** What an unguarded delete that archives rows would remove. Nothing but what chooses them can be at fault. */
export const dryDelete = Effect.fnUntraced(function* (
  actor: Actor,
  { table, ...sent }: Pick<SentDelete, "all" | "filter" | "search"> & { readonly table: string }
) {
  const rows = yield* Rows
  const { ids, matched } = yield* rows.ids(actor, table, yield* Effect.fromResult(chosenBy(sent, "")), maxIds)
  const note = matched === 0 ? yield* rows.notes.ofNothing({ table, filter: sent.filter }, actor) : undefined
  return noted(dryAnswer(matched, JSON.stringify(ids)), note)
})

/** What a delete that was evaluated, but not stored, would have removed. */
export const dryEvaluated = (body: JsonText): JsonText => {
  const told = membersByName(body)
  const matched = (told.get("forgotten") ?? told.get("deleted"))!.value
  const [ids, hasMore] = [told.get("ids")?.value ?? "[]", told.get("has_more")?.value ?? "false"]
  return JsonText.trusted(`{"dry_run":true,"matched":${matched},"ids":${ids},"has_more":${hasMore}${noteOf(body)}}`)
}
