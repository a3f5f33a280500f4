import { Option } from "effect"
import { Base64Url } from "effect/encoding"
import type { ApiKey } from "./Key.ts"

/** The place of a key in the list: when it was made, in milliseconds, and its id. */
export interface KeyPlace {
  readonly createdAt: number
  readonly id: string
}

const format = /^(\d{1,13}) ([0-9a-f-]{36})$/

/** The cursor that goes on behind a key. */
export const cursorAfter = ({ created_at, id }: ApiKey): string => Base64Url.encode(`${Date.parse(created_at)} ${id}`)

/** Reads {@link cursorAfter}; none for any other text. */
export const placeOf = (cursor: string): Option.Option<KeyPlace> =>
  Option.flatMap(Option.getSuccess(Base64Url.decodeString(cursor)), (text) => {
    const [, createdAt, id] = format.exec(text) ?? []
    return id === undefined ? Option.none() : Option.some({ createdAt: Number(createdAt), id })
  })
