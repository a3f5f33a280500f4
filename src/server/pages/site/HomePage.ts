import { Option } from "effect"
import type { ServiceLimits } from "../../Config.ts"
import { codeBlock } from "../CodeBlock.ts"
import { escapeHtml } from "../Html.ts"
import { page } from "../Page.ts"
import { clients } from "./Clients.ts"
import { kinds } from "./Kinds.ts"
import { limitsTable } from "./Limits.ts"
import { numberText } from "../../LimitWords.ts"
import { restExamples } from "./RestExamples.ts"
import { startCard } from "./StartCard.ts"
import type { ServiceTotals } from "./Totals.ts"

export interface HomeContent {
  readonly baseUrl: string
  readonly limits: ServiceLimits
  readonly localMode: boolean
  readonly totals: Option.Option<ServiceTotals>
}

const fact = (value: number, what: string): string => `<div><dt>${what}</dt><dd>${numberText(value)}</dd></div>`

const facts = (totals: ServiceTotals): string =>
  `<dl class="facts">${fact(totals.tables, "tables")}${fact(totals.rows, "rows")}${fact(totals.versions, "versions to go back to")}</dl>`

const kindCards = kinds
  .map(
    ({ name, row, table, why }) => `<li><h3>${name}</h3><p>${why}</p>
<p class="row-example"><span>${table}</span><code>${escapeHtml(row)}</code></p></li>`
  )
  .join("\n")

const history = [
  ["Added", '{"title": "Renew the passport", "done": false}'],
  ["Changed", '{"title": "Renew the passport", "done": true}'],
  ["Deleted", "gone, but kept"],
  ["Restored version 1", '{"title": "Renew the passport", "done": false}']
]
  .map(([what, row]) => `<li><strong>${what}</strong><code>${escapeHtml(row ?? "")}</code></li>`)
  .join("")

/** The front page: what this is, a start with real requests, and what to expect. */
export const homePage = ({ baseUrl, limits, localMode, totals }: HomeContent): string => {
  const commandLine = clients(`${baseUrl}/mcp`).filter(({ id }) => ["claude-code", "codex", "gemini-cli"].includes(id))
  return page({
    title: "Agent Memory: tables your agents remember in",
    description: "Small durable JSON tables for AI agents, over MCP and REST. Every change can be undone.",
    robots: "index",
    current: "/",
    scripts: ["home.js"],
    main: `<main class="wide home">
<section class="hero">
<div>
<h1>Tables your agents remember in</h1>
<p class="lead">Agents add, query and change small JSON rows over MCP or REST. What was stored comes back exactly, and every change can be undone.</p>
<p class="actions"><a class="button primary" href="#start">Store your first row</a><a class="button" href="/install">Connect an agent</a></p>
${Option.match(totals, { onNone: () => "", onSome: facts })}
</div>
${startCard(baseUrl, localMode)}
</section>

<section aria-labelledby="connect"><h2 id="connect">Connect</h2>
<div class="tabs" data-tabs>
<section id="for-agents"><h3>Agents</h3>
<p>One address for every MCP client. The client opens your browser to sign in; there is no key to paste.</p>
<div class="blocks">${codeBlock("MCP address", `${baseUrl}/mcp`)}
${commandLine.map(({ blocks, name }) => codeBlock(name, blocks[0]?.[1] ?? "")).join("\n")}</div>
<p><a href="/install">Claude on the web, ChatGPT, Cursor, VS Code and others</a></p></section>
<section id="for-code"><h3>Code</h3>
<p>Your own programs use REST with an API key. <a href="/docs">API reference</a></p>
<div class="blocks">${restExamples(baseUrl)
      .map(([language, text]) => codeBlock(language, text))
      .join("\n")}</div></section>
</div></section>

<section aria-labelledby="kinds"><h2 id="kinds">What agents keep here</h2>
<p>A row is any JSON object, and a table comes into being with its first row. No schema to plan.</p>
<ul class="kinds">${kindCards}</ul></section>

<section aria-labelledby="undo"><h2 id="undo">Nothing is lost to a wrong edit</h2>
<p>Each update and delete archives the row first. A row keeps its last ${numberText(limits.versionsPerRow)} versions for ${numberText(limits.versionDays)} days, and restoring one can itself be undone.</p>
<ol class="history">${history}</ol></section>

<section aria-labelledby="limits"><h2 id="limits">Limits</h2>
<p>Small on purpose: a row is something that an agent reads whole.</p>
${limitsTable(limits)}</section>

<section aria-labelledby="self"><h2 id="self">Run it yourself</h2>
<p>One process and no set-up: it brings its own PostgreSQL, or uses yours. In a copy of the repository:</p>
<div class="blocks">${codeBlock("Start it at http://localhost:3000", "npm ci && npm start")}
${codeBlock("Or with your own database and address", "DATABASE_URL=postgres://user:password@host:5432/memory?sslmode=verify-full \\\nBASE_URL=https://memory.example.com \\\nSMTP_URL=smtps://user:password@mail.example.com \\\nnpm start")}</div></section>
</main>`
  })
}
