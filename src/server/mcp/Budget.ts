import { readItems } from "../../domain/json/Items.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { members } from "../../domain/json/Members.ts"
import { decodeString } from "../../domain/json/Strings.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"

/** How many tokens of rows, versions or results one answer holds; the first row is always whole. */
export const tokenBudget = 10_000

/** At least as many tokens as a text is to any model: rare characters and random digits are about one for two bytes. */
const tokensOf = (text: string): number => Math.ceil(utf8Length(text) / 2)

/** How many ids one answer holds: as many as a model reads without harm. */
export const maxIds = 500

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
export const idOf = (row: string): string => decodeString(members(JsonText.trusted(row))[0]!.value)

/** The rows of an update's answer, in order. */
export const updatedRows = (body: JsonText): ReadonlyArray<string> => readItems(memberOf(body, "rows"))

const memberOf = (json: JsonText, name: string): string => members(json).find((member) => member.name === name)!.value

const updateWithin = (body: JsonText, room: Room): string | undefined => {
  const rows = updatedRows(body)
  const fitting = room.rows(rows)
  if (fitting === rows.length) return undefined
  const ids = room.idsOf(rows.slice(fitting))
  return `{"updated":${rows.length},"rows":[${rows.slice(0, fitting).join()}],"ids":${ids},"has_more":true}`
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
