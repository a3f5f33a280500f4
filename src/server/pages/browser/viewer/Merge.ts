import { JsonText } from "../../../../domain/json/JsonText.ts"
import { members } from "../../../../domain/json/Members.ts"
import { memberTexts } from "./JsonParts.ts"

export type Side = "mine" | "theirs"

/** A field that two people left with different values; a value is undefined where the field is gone or was not there. */
export interface Choice {
  readonly name: string
  readonly mine: string | undefined
  readonly theirs: string | undefined
  /** The side that alone changed the field, or undefined where both did. */
  readonly suggested: Side | undefined
}

/** What has to be chosen between two versions of a row that both come from `base`. All are validated, compact objects. */
export const choices = (base: string, mine: string, theirs: string): ReadonlyArray<Choice> => {
  const was = memberTexts(base)
  const ours = memberTexts(mine)
  const other = memberTexts(theirs)
  return [...new Set([...other.keys(), ...ours.keys()])].flatMap((name): ReadonlyArray<Choice> => {
    const [before, my, their] = [was.get(name), ours.get(name), other.get(name)]
    if (my === their) return []
    return [
      { name, mine: my, theirs: their, suggested: my === before ? "theirs" : their === before ? "mine" : undefined }
    ]
  })
}

/** The row with each field from its chosen side, in their order, followed by the fields that only mine has. */
export const merged = (mine: string, theirs: string, chosen: ReadonlyMap<string, Side>): JsonText => {
  const ours = new Map(members(JsonText.trusted(mine)).map((member) => [member.name, member]))
  const parts: Array<string> = []
  for (const member of members(JsonText.trusted(theirs))) {
    const used = chosen.get(member.name) === "mine" ? ours.get(member.name) : member
    ours.delete(member.name)
    if (used !== undefined) parts.push(used.rawName + ":" + used.value)
  }
  for (const { name, rawName, value } of ours.values()) {
    if (chosen.get(name) === "mine") parts.push(rawName + ":" + value)
  }
  return JsonText.trusted("{" + parts.join(",") + "}")
}
