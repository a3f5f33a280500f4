import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { askQuery, type Ask } from "./Ask.ts"

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = (table: string, { filter, search, sort }: Ask, baseUrl: string): string =>
  `curl ${shellQuoted(`${baseUrl}/v1/${table}${askQuery({ filter, search, sort })}`)} \\\n  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY"`

const typeScript = (table: string, { filter, search, sort }: Ask): string => {
  const options = [
    search === undefined ? "" : `search: ${JSON.stringify(search)}`,

    filter === undefined ? "" : `filter: ${filter}`,
    sort === undefined ? "" : `sort: ${JSON.stringify(sort)}`
  ]
  const given = options.filter((option) => option !== "").join(", ")
  return `const { rows } = await memory.table("${table}").query(${given === "" ? "" : `{ ${given} }`})`
}

const toolCall = (table: string, { filter, search, sort }: Ask): string => {
  const filtered = filter === undefined ? "" : `,"filter":${filter}`
  const searched = search === undefined ? "" : `,"search":${JSON.stringify(search)}`
  const sorted = sort === undefined ? "" : `,"sort":${JSON.stringify(sort)}`
  return `{"name":"query","arguments":{"table":"${table}"${filtered}${searched}${sorted}}}`
}

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
