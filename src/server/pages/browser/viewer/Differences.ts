import { memberTexts } from "./JsonParts.ts"

/** A field whose JSON text differs between two objects; a side is undefined where it has no such field. */
export interface Difference {
  readonly name: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The fields in which two validated, compact objects differ: those of the first in its order, then the added ones. */
export const differences = (before: string, after: string): ReadonlyArray<Difference> => {
  const old = memberTexts(before)
  const fresh = memberTexts(after)
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .map((name) => ({ name, before: old.get(name), after: fresh.get(name) }))
    .filter(({ before, after }) => before !== after)
}
