import type { ServiceLimits } from "../../Config.ts"
import { makeTools, type ListedTool } from "../../mcp/Tools.ts"
import { codeBlock } from "../CodeBlock.ts"
import { escapeHtml } from "../Html.ts"
import { docsPage, inlineCode } from "./DocsPage.ts"
import type { JsonSchema } from "./OpenApi.ts"
import { fieldsOf, fieldTable } from "./Shape.ts"

const section = (tool: ListedTool): string => {
  const given = fieldsOf(tool.inputSchema as JsonSchema, "body")
  return `<section class="operation" id="${tool.name}">
<h2><a class="anchor" href="#${tool.name}">${escapeHtml(tool.title)}</a></h2>
<p class="call"><span class="method">${tool.annotations.readOnlyHint ? "READ" : "WRITE"}</span> <code>${tool.name}</code></p>
<p>${inlineCode(tool.description)}</p>
${given.length > 0 ? fieldTable("Arguments", given) : "<p>It takes no arguments.</p>"}
${fieldTable("Answer", fieldsOf(tool.outputSchema as JsonSchema, "answer"))}
</section>`
}

/** The tools of `/mcp`, as agents are told of them. */
export const toolsPage = (baseUrl: string, limits: ServiceLimits): string =>
  docsPage({
    current: "/docs/tools",
    title: "MCP tools",
    description: "The tools that agents call at /mcp, with their arguments and answers.",
    body: `<h1>MCP tools</h1>
<p class="lead">What agents call at <code>/mcp</code>. They do what the operations of the same names do over REST, under the same limits and without loss.</p>
${codeBlock("MCP address", `${baseUrl}/mcp`)}
<ul>
<li>A person signs in and chooses what an agent may do: <a href="/install">set-up for each client</a>. Agents that may only read are shown the reading tools alone.</li>
<li>Each answer stands twice in a result, as <code>structuredContent</code> and as the same JSON in text.</li>
<li>A refusal is a result with <code>isError</code>: JSON with the <code>code</code>, <code>detail</code> and <code>hint</code> of <a href="/docs/errors">the errors</a>.</li>
<li>Send an <code>idempotencyKey</code> with a write that you may repeat: the same key gives the first answer.</li>
</ul>
${makeTools(limits).listedFor("full").map(section).join("\n")}`
  })

/** What the reference's search finds of the tools. */
export const toolEntries = (limits: ServiceLimits) =>
  makeTools(limits)
    .listedFor("full")
    .map(({ description, name, title }) => ({
      title: name,
      note: `MCP tool: ${title}`,
      path: `/docs/tools#${name}`,
      text: `${name} ${title} mcp tool ${description}`.toLowerCase()
    }))
