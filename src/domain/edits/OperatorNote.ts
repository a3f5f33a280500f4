import { shorten } from "../json/JsonIssue.ts"
import type { JsonText } from "../json/JsonText.ts"
import { members } from "../json/Members.ts"

const operator = /^\{"(\$[A-Za-z]+)"/

/**
 * What to tell a caller whose patch has an operator of another database, as in `{"n": {"$inc": 1}}`: it was stored, as any
 * value is. Undefined for every other patch.
 */
export const operatorNote = (patch: JsonText): string | undefined => {
  for (const { name, value } of members(patch)) {
    const found = /^\$[A-Za-z]+$/.test(name) ? name : operator.exec(value)?.[1]
    if (found === undefined) continue
    return (
      `A patch stores values as they are, so ${shorten(found, 50)} was stored and did nothing else. To change a value in ` +
      'place, send edits: [{"op":"increment","field":"n","by":1}]; other ops are append, replace, push and remove. ' +
      "To take this write back, restore the row's version before it."
    )
  }
  return undefined
}
