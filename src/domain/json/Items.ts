import { valueEnd } from "./SkipValue.ts"

/** The JSON texts of an array's items, in order. The array's text must be valid and compact. */
export const readItems = (array: string): ReadonlyArray<string> => {
  const items: Array<string> = []
  for (let from = 1; from < array.length - 1;) {
    const end = valueEnd(array, from)
    items.push(array.slice(from, end))
    from = end + 1
  }
  return items
}
