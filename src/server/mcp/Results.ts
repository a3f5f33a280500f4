import { numberText, plural } from "../../domain/Amounts.ts"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { members, type Member, readItems } from "../../domain/json/Members.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"
import { Effect, Result } from "effect"
import type { Actor } from "../../domain/Actor.ts"
import { noted } from "../tables/Notes.ts"
import { Rows } from "../tables/Rows.ts"
import type { WriteResult } from "../tables/engine/Evaluation.ts"
import { requiredFilter } from "../tables/operations/OperationKind.ts"
import { chosenBy, type SentDelete } from "../tables/operations/DeleteRows.ts"

/** In bytes of UTF-8: members that are no longer than this are kept before longer ones. */
const shortBytes = 1000

/** What the end of a text that is cut says, at most. */
const endBytes = 80

/** A row that was too long for an answer, and a sentence on which of its fields were cut or left out. */
export interface CutRow {
  readonly text: string
  readonly said: string
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** How far around a place a character can reach: the longest that people write are much shorter. */
const reach = 64

/** The beginning of a text that has at most so many bytes as JSON, and no part of a character at its end. */
const beginning = (text: string, bytes: number): string => {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (utf8Length(print(text.slice(0, middle))) <= bytes) low = middle
    else high = middle - 1
  }
  const from = Math.max(0, low - reach)
  const around = segmenter.segment(text.slice(from, low + reach)).containing(low - from)
  return text.slice(0, around === undefined ? low : from + around.index)
}

/** A string with as much of it as fits, and how much that is. */
const cutString = (value: string, bytes: number): string => {
  const text = decodeString(value)
  const shown = beginning(text, bytes - endBytes)
  return print(`${shown}… [cut: ${numberText(shown.length)} of ${numberText(text.length)} characters]`)
}

/** Which bytes of an answer a member takes. */
const bytesOf = ({ rawName, value }: Member): number => utf8Length(rawName) + utf8Length(value) + 2

const list = (names: ReadonlyArray<string>): string => {
  const shown = names.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 100)))
  const others = names.length - shown.length
  return others === 0 ? shown.join(", ") : `${shown.join(", ")} and ${plural(others, "other")}`
}

const sentenceOf = (id: string, cut: ReadonlyArray<string>, left: ReadonlyArray<string>): string => {
  const parts = [
    ...(cut.length === 0 ? [] : [`${list(cut)} cut`]),
    ...(left.length === 0 ? [] : [`${list(left)} left out`])
  ]
  return `The row ${id} is too long: ${parts.join(", ")}.`
}

/**
 * A row of more than so many bytes as far as there is room for it: short members first, then each of the long ones with its
 * share. Texts are cut between characters, and say so at their end; other values are left out. Undefined for a row that fits.
 */
export const cutRow = (row: string, mostBytes: number): CutRow | undefined => {
  if (utf8Length(row) <= mostBytes) return undefined
  const all = members(JsonText.trusted(row))
  const kept = new Map<Member, string>()
  let left = mostBytes - 2
  const keep = (member: Member, value: string) => {
    kept.set(member, value)
    left -= utf8Length(member.rawName) + utf8Length(value) + 2
  }
  for (const member of all) {
    const bytes = bytesOf(member)
    if (bytes <= shortBytes && bytes <= left) keep(member, member.value)
  }
  const long = all.filter((member) => bytesOf(member) > shortBytes)
  const cut: Array<string> = []
  for (const [index, member] of long.entries()) {
    const share = Math.floor(left / (long.length - index))
    const room = share - utf8Length(member.rawName) - 2
    if (bytesOf(member) <= share) keep(member, member.value)
    else if (member.value[0] === '"' && room > 2 * endBytes) {
      cut.push(member.name)
      keep(member, cutString(member.value, room))
    }
  }
  const shown = all.filter((member) => kept.has(member))
  const leftOut = all.filter((member) => !kept.has(member)).map(({ name }) => name)
  const text = shown.map((member) => `${member.rawName}:${kept.get(member)!}`).join()
  return { text: `{${text}}`, said: sentenceOf(decodeString(all[0]!.value), cut, leftOut) }
}

/** How many tokens of rows, versions or results one answer holds. Of those that a write gives back the first is always whole. */
export const tokenBudget = 10_000

/** In bytes: a row that is read and longer is cut. */
export const rowBytes = 2 * tokenBudget

/** At least as many tokens as a text is to any model: rare characters and random digits are about one for two bytes. */
const tokensOf = (text: string): number => Math.ceil(utf8Length(text) / 2)

/** How many ids one answer holds: as many as a model reads without harm. */
const maxIds = 500

/** As many whole texts as the budget holds, and one at least. */
export const withinBudget = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  return texts.slice(0, new Room().rows(texts))
}

/** What one answer still has room for. */
class Room {
  private tokens = tokenBudget
  private ids = maxIds
  private isEmpty = true

  /** How many of these rows fit, from the first on. */
  rows(texts: ReadonlyArray<string>): number {
    const over = texts.findIndex((text) => !this.take(text))
    return over === -1 ? texts.length : over
  }

  /** The ids that fit, as a JSON array. */
  idsOf(rows: ReadonlyArray<string>): string {
    const shown = rows.slice(0, this.ids)
    this.ids -= shown.length
    return JSON.stringify(shown.map(idOf))
  }

  private take(text: string): boolean {
    const tokens = tokensOf(text)
    if (!this.isEmpty && tokens > this.tokens) return false
    this.isEmpty = false
    this.tokens -= tokens
    return true
  }
}

/** The id of a row, which stands first in it. */
const idOf = (row: string): string => decodeString(members(JsonText.trusted(row))[0]!.value)

/** The rows of an update's answer, in order. */
const updatedRows = (body: JsonText): ReadonlyArray<string> => readItems(memberOf(body, "rows"))

/** The rows that a batch of adds stored. */
export const addedRows = (body: JsonText): ReadonlyArray<string> =>
  readItems(memberOf(body, "results")).map((result) => memberOf(JsonText.trusted(result), "result"))

const memberOf = (json: JsonText, name: string): string => members(json).find((member) => member.name === name)!.value

const updateWithin = (body: JsonText, room: Room): string | undefined => {
  const rows = updatedRows(body)
  const fitting = room.rows(rows)
  if (fitting === rows.length) return undefined
  const ids = room.idsOf(rows.slice(fitting))
  const note = members(body).find(({ name }) => name === "note")
  const noted = note === undefined ? "" : `,"note":${note.value}`
  return `{"updated":${rows.length},"rows":[${rows.slice(0, fitting).join()}],"ids":${ids},"has_more":true${noted}}`
}

/** The answer of an update with as many rows as one answer holds, and the ids of those that it leaves out. */
export const boundedUpdate = (body: JsonText): JsonText => {
  const bounded = updateWithin(body, new Room())
  return bounded === undefined ? body : JsonText.trusted(bounded)
}

/** A result of a batch as far as there is room for it; undefined where there is room for all of it. */
const resultWithin = (action: string, result: string, room: Room): string | undefined => {
  const json = JsonText.trusted(result)
  switch (action) {
    case "add":
      return room.rows([result]) === 1 ? undefined : `{"id":${memberOf(json, "id")}}`
    case "upsert":
    case "update_row": {
      const row = memberOf(json, "row")
      if (room.rows([row]) === 1) return undefined
      const created = action === "upsert" ? `"created":${memberOf(json, "created")},` : ""
      return `{${created}"id":${JSON.stringify(idOf(row))}}`
    }
    case "update_where":
      return updateWithin(json, room)
    default:
      return undefined
  }
}

/** The rows that a batch of adds stored: as many as one answer holds, and the ids of those that it leaves out. */
export const boundedAdds = (body: JsonText): JsonText => {
  const rows = addedRows(body)
  const room = new Room()
  const fitting = room.rows(rows)
  const cut = fitting === rows.length ? "" : `,"ids":${room.idsOf(rows.slice(fitting))},"has_more":true`
  return JsonText.trusted(`{"added":${rows.length},"rows":[${rows.slice(0, fitting).join()}]${cut}}`)
}

/** The results of a batch, with ids in the place of the rows that one answer has no room for. */
export const boundedBatch = (body: JsonText): JsonText => {
  const room = new Room()
  let isCut = false
  const results = readItems(memberOf(body, "results")).map((text) => {
    const [index, action, result] = members(JsonText.trusted(text))
    const short = resultWithin(decodeString(action!.value), result!.value, room)
    if (short === undefined) return text
    isCut = true
    return `{"index":${index!.value},"action":${action!.value},"result":${short}}`
  })
  return isCut ? JsonText.trusted(`{"results":[${results.join()}],"has_more":true}`) : body
}

type Shape = (body: JsonText) => JsonText

/** A write's answer with the rows where they are asked for, else its receipt. */
export const shownBy = ({ returnRows }: { readonly returnRows?: boolean }, rows: Shape, brief: Shape): Shape =>
  returnRows === true ? rows : brief

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

interface Target {
  readonly table: string
  readonly filter: JsonText
  readonly search?: string
}

type DeleteTarget = Pick<SentDelete, "all" | "filter" | "search"> & { readonly table: string }

const answer = (matched: number, ids: ReadonlyArray<string>, more = "") =>
  JsonText.trusted(
    `{"dry_run":true,"matched":${matched},"ids":${JSON.stringify(ids.slice(0, maxIds))},"has_more":${matched > maxIds}${more}}`
  )

/** What an update that was evaluated, but not stored, would have changed. */
export const dryUpdate = (body: JsonText): JsonText => {
  const rows = updatedRows(body)
  const note = members(body).find(({ name }) => name === "note")?.value
  return noted(answer(rows.length, rows.map(idOf)), note === undefined ? undefined : decodeString(note))
}

/** The rows that match what was checked. */
const matching = Effect.fnUntraced(function* (actor: Actor, target: Target) {
  const rows = yield* Rows
  return yield* rows.ids(actor, target.table, Result.getOrThrow(requiredFilter(target, "")), maxIds)
})

/** What an update would change that is refused as several rows match: nothing, until it says that it means them all. */
export const dryRefusedUpdate = (actor: Actor, target: Target) =>
  Effect.map(matching(actor, target), ({ ids, matched }) => answer(matched, ids, ',"needs_allow_multiple":true'))

/** What an unguarded delete that archives rows would remove. Nothing but what chooses them can be at fault. */
export const dryDelete = Effect.fnUntraced(function* (actor: Actor, { table, ...sent }: DeleteTarget) {
  const filter = yield* Effect.fromResult(chosenBy(sent, ""))
  const rows = yield* Rows
  const { ids, matched } = yield* rows.ids(actor, table, filter, maxIds)
  const note = matched === 0 ? yield* rows.notes.ofNothing({ table, filter: sent.filter }, actor) : undefined
  return noted(answer(matched, ids), note)
})

/** What a delete that was evaluated, but not stored, would have removed. */
export const dryEvaluated = (body: JsonText): JsonText => {
  const told = new Map(members(body).map(({ name, value }) => [name, value]))
  const matched = told.get("forgotten") ?? told.get("deleted")!
  const note = told.get("note")
  const hasMore = told.get("has_more") ?? "false"
  return JsonText.trusted(
    `{"dry_run":true,"matched":${matched},"ids":${told.get("ids") ?? "[]"},"has_more":${hasMore}${note === undefined ? "" : `,"note":${note}`}}`
  )
}
