import type { JsonText } from "../domain/json/JsonText.ts"
import type { Measured, Measures, Summary } from "./Types.ts"

type Exact<Members extends Measures> = Omit<Members, "sum" | "min" | "max" | "avg"> & {
  readonly [Name in (typeof names)[number]]?: Omit<Measured, "value"> & { readonly value: JsonText }
}

/** A summary as it arrives: its values are still text. */
export type ExactSummary = Omit<Exact<Summary>, "groups"> & {
  readonly groups?: ReadonlyArray<Exact<Measures> & { readonly value: JsonText }>
}

const names = ["sum", "min", "max", "avg"] as const

/** Reads the values of a summary. */
export const summaryOf = ({ groups, ...found }: ExactSummary, readValue: (text: JsonText) => unknown): Summary => {
  const measures = <Members extends Exact<Measures>>(members: Members) => {
    const read = names.flatMap((name) => {
      const measured = members[name]
      return measured === undefined ? [] : [[name, { ...measured, value: readValue(measured.value) }]]
    })
    return { ...members, ...(Object.fromEntries(read) as Measures) }
  }
  const shown = groups?.map((group) => ({ ...measures(group), value: readValue(group.value) }))
  return { ...measures(found), ...(shown && { groups: shown }) }
}
