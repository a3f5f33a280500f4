import type { CreatedLink } from "../../../domain/Link.ts"
import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { accountPage, proofField, timeHtml } from "./Frame.ts"
import { addressOf } from "../PrivatePage.ts"
import type { Ask } from "./Ask.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import { systemFields, timeText, type Row } from "../../../domain/Row.ts"
import { Pace, type Turns } from "../../../domain/Turns.ts"

/** A button that makes a link for somebody without an account. The fields say of what query. */
export const shareForm = (path: string, proof: string, ask: Partial<Ask> = {}): Html =>
  html`<form method="post" action="${path}/_share">${proofField(proof)}${Object.entries(ask).map(([name, value]) => value !== undefined && name !== "cursor" && html`<input type="hidden" name="${name}" value="${value}">`)}<button type="submit">Share</button></form>`

/** The addresses of a new link, which are shown this once. */
export const sharePage = (input: {
  readonly table: string
  /** What the link leads to, and the page that it was made on. */
  readonly subject: string
  readonly back: string
  readonly link: CreatedLink
}): Html => {
  const { back, link, subject, table } = input
  return accountPage(
    "Share",
    { current: "/tables", width: "wide" },
    html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a></p>
<h1>A link to ${subject}</h1>
<p class="lead">Anyone who has it can see ${link.editable ? "and edit the row" : "the rows"} until ${timeHtml(link.expires_at)}, without an account.</p>
${codeBlock("To see it", link.viewer_url)}
${codeBlock("To download it", link.download_url)}
<p class="muted">These addresses are shown this once. Changes through a link stand in the activity like any other, and can be undone.</p>
<p class="actions"><a class="button" href="${back}">Back</a></p>`
  )
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = (table: string, { filter, search, sort }: Ask, baseUrl: string): string =>
  `curl ${shellQuoted(addressOf(`${baseUrl}/v1/${table}`, { filter, search, sort }))} \\\n  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY"`

const optionsOf = ({ filter, search, sort }: Ask) =>
  Object.entries({ filter, search: search && JSON.stringify(search), sort: sort && JSON.stringify(sort) }).filter(
    ([, value]) => value !== undefined
  )

const typeScript = (table: string, ask: Ask): string => {
  const options = optionsOf(ask).map(([name, value]) => `${name}: ${value}`)
  return `const { rows } = await memory.table("${table}").query(${options.length === 0 ? "" : `{ ${options.join(", ")} }`})`
}

const toolCall = (table: string, ask: Ask): string =>
  `{"name":"query","arguments":{"table":"${table}"${optionsOf(ask)
    .map(([name, value]) => `,"${name}":${value}`)
    .join("")}}}`

/** The query that a grid shows, as programs and agents ask for it. */
export const copyAs = (
  table: string,
  ask: Ask,
  baseUrl: string
): Html => html`<details class="menu"><summary class="button">Copy as</summary><div class="card copy-as">
${codeBlock("curl", curl(table, ask, baseUrl))}
${codeBlock("TypeScript", typeScript(table, ask))}
${codeBlock("MCP call", toolCall(table, ask))}
</div></details>`

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const textOf = (value: string | undefined): string => {
  if (value === undefined) return ""
  return quoted(value[0] === '"' ? decodeString(value).toWellFormed() : value)
}

/** A CSV has a cell for each field of any row in every row, so that few odd rows could make it endless. */
const mostCells = 2_000_000

/**
 * Rows as CSV (RFC 4180) with a line of names: own fields in the order in which they first appear, then those of the service.
 * Texts are as they are, everything else is JSON, and a field that a row has not is empty. Undefined where the rows have too
 * many different fields for a table.
 */
export function* csvOf(rows: ReadonlyArray<Row>): Turns<string | undefined> {
  const pace = new Pace()
  const columns = new Set<string>()
  const found: Array<ReadonlyMap<string, string>> = []
  for (const row of rows) {
    const values = new Map(members(row.data).map(({ name, value }) => [name, value]))
    for (const name of values.keys()) columns.add(name)
    found.push(values)
    yield* pace.worked(8 * row.data.text.length)
  }
  if (columns.size * rows.length > mostCells) return undefined
  const names = [...columns]
  let csv = `${[...names, ...systemFields].map((name) => quoted(name.toWellFormed())).join()}\r\n`
  for (const [index, row] of rows.entries()) {
    const own = names.map((name) => textOf(found[index]?.get(name)))
    csv += `${[...own, row.id, timeText(row.createdAt), timeText(row.updatedAt)].join()}\r\n`
    yield* pace.worked(8 * row.data.text.length + 8 * names.length)
  }
  return csv
}
