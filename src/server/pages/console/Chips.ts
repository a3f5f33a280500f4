import { shorten } from "../../../domain/json/JsonIssue.ts"
import { parseSort } from "../../../domain/Query.ts"
import { html, type Html } from "../../doors/Html.ts"
import { comparisons, comparisonsOf, withoutComparison, type Ask } from "./Ask.ts"
import { lineOf } from "./Cells.ts"

const said = new Map<string, string>(comparisons)

const sortWords = (sort: string): Html => {
  const { descending, field } = parseSort(sort)
  return html`sorted by <strong>${shorten(field, 60)}</strong>${descending && ", descending"}`
}

/**
 * What a query asks for in words: its search, each comparison of its filter, and its sort. With `address`, which gives the
 * address of the query with some of it changed, each can be removed. The filter must be valid: one of more comparisons than a
 * valid one has would fill pages.
 */
export const chips = (
  { filter, search, sort }: Partial<Ask>,
  address?: (changed: Partial<Ask>) => string
): Html | false => {
  const chip = (words: Html, name: string, without: () => Partial<Ask>) =>
    html`<li class="chip"><span>${words}</span>${address !== undefined && html`<a href="${address(without())}">Remove<span class="visually-hidden"> ${name}</span></a>`}</li>`
  const all = [
    ...(search === undefined
      ? []
      : [chip(html`has <strong>${shorten(search, 60)}</strong>`, "the search", () => ({ search: undefined }))]),
    ...comparisonsOf(filter).map((one) =>
      chip(
        html`<strong>${shorten(one.field, 60)}</strong> ${said.get(one.operator) ?? one.operator} ${lineOf(one.value, 60)}`,
        `the filter on ${one.field}`,
        () => ({ filter: withoutComparison(filter, one) })
      )
    ),
    ...(sort === undefined ? [] : [chip(sortWords(sort), "the sort", () => ({ sort: undefined }))])
  ]
  return all.length > 0 && html`<ul class="chips" aria-label="Filters">${all}</ul>`
}
