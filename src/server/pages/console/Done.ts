import { plural } from "../../../domain/Amounts.ts"
import { html, type Html } from "../../doors/Html.ts"
import { proofField } from "./Frame.ts"

const kinds = ["changed", "deleted", "imported"] as const

/** What an address says of the write that led to it, if that changed anything. */
export const changeQuery = (change: number | undefined): string => (change === undefined ? "" : `&change=${change}`)

/** A button that takes back the write of an address. */
export const undoOf = (query: URLSearchParams, proof: string): Html | undefined => {
  const change = /^\d{1,15}$/.exec(query.get("change") ?? "")?.[0]
  if (change === undefined) return undefined
  return html`<form class="inline" method="post" action="/activity/_undo">${proofField(proof)}<input type="hidden" name="change" value="${change}"><button type="submit">Undo</button></form>`
}

/** How many rows a form changed, and by which write, as the address of the page says on which it ends. */
export const doneQuery = (kind: (typeof kinds)[number], count: number, change: number | undefined): string =>
  `?${kind}=${count}${changeQuery(change)}`

/** Says what {@link doneQuery} says, with a button that takes the write back. */
export const doneNotice = (query: URLSearchParams, proof: string): Html | undefined => {
  const kind = kinds.find((one) => /^\d{1,6}$/.test(query.get(one) ?? ""))
  if (kind === undefined) return undefined
  const undo = undoOf(query, proof)
  return html`${plural(Number(query.get(kind)), "row")} ${kind}.${undo && html` ${undo}`}`
}
