import { decodeString } from "../json/Strings.ts"
import { encodeText } from "./EncodeText.ts"
import { numberKey } from "./NumberKey.ts"

/** The key of null: in every sort it comes behind the values, in both directions. */
export const NULL_KEY = "0"

/**
 * A typed key of a JSON value (given as validated, compact text). Keys are equal exactly when type and value are,
 * except that all arrays and objects are one; their order under COLLATE "C" is number, string, false, true,
 * array or object. Keys hold neither NUL nor lone surrogates.
 */
export const facetKey = (rawValue: string): string => {
  switch (rawValue.charCodeAt(0)) {
    case 34:
      return stringKey(decodeString(rawValue))
    case 123:
    case 91:
      return "5"
    case 102:
      return "3"
    case 116:
      return "4"
    case 110:
      return NULL_KEY
    default:
      return "1" + numberKey(rawValue)
  }
}

/** The key of a string, given as its characters. */
export const stringKey = (text: string): string => "2" + encodeText(text)
