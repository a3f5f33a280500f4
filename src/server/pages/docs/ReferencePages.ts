import { settingGroups } from "../../config/Settings.ts"
import { amountText, numberText } from "../../../domain/Amounts.ts"
import type { Setting } from "../../config/Setting.ts"
import { html, type Html, inlineCode, codeBlock } from "../../doors/Html.ts"
import { documentOf } from "../Assets.ts"
import { docsPage } from "./DocsPage.ts"
import { fillLimits, type Limits } from "../../../domain/Limits.ts"
import type { ListedTool } from "../../mcp/Tool.ts"
import { firstStep, toolExamples, wishes } from "../../mcp/ToolGuide.ts"
import { makeTools } from "../../mcp/Tools.ts"
import { documentPages } from "./Documents.ts"
import { problems } from "./ErrorsPage.ts"
import { clientOf, curlOf } from "./Examples.ts"
import {
  anchorOf,
  boundsOf,
  failuresOf,
  type Field,
  fieldsOf,
  type Group,
  groups,
  type JsonSchema,
  type Operation,
  resolve,
  schemaOf,
  typeOf
} from "./OpenApi.ts"

/** A setting's default as a person reads it, with code in backticks; empty where there is none. */
export const defaultText = ({ fallback, measure, otherwise }: Setting<unknown>): string => {
  if (otherwise !== undefined) return otherwise
  if (measure === undefined) return fallback === "" ? "" : `\`${fallback}\``
  return `\`${fallback}\`, ${amountText(Number(fallback), measure)}`
}

const grouped = (text: string): string => text.replaceAll(/\d{5,}/g, (digits) => numberText(Number(digits)))

const expectedText = ({ expected, measure }: Setting<unknown>): string =>
  expected.startsWith("a whole number")
    ? `${grouped(expected)}${measure === undefined ? "" : `, in ${measure}`}`
    : expected

const row = (setting: Setting<unknown>): Html => {
  const { meaning, name } = setting
  const fallback = defaultText(setting)
  const breakable = name.split("_").map((part, index) => html`${index > 0 && html`_<wbr>`}${part}`)
  return html`<tr id="${name}"><th scope="row"><a class="anchor" href="#${name}"><code>${breakable}</code></a><br><span class="muted">${fallback === "" ? "no default" : html`default ${inlineCode(fallback)}`}</span></th><td>${inlineCode(meaning)}<br><span class="muted">Accepts ${inlineCode(expectedText(setting))}.</span></td></tr>\n`
}

/** Every environment variable that the service reads, from where they are declared. */
export const configurationPage = (): Html =>
  docsPage({
    current: "/docs/configuration",
    title: "Configuration",
    description: "Every environment variable of Agent Memory: its default, its accepted values, and what it does.",
    body: html`<h1>Configuration</h1>
<p class="lead">Environment variables configure the service. All of them are optional.</p>
<ul>
<li>They are read once, at startup. If a setting is invalid, the service stops and lists the accepted values of every invalid setting.</li>
<li>An empty variable counts as unset. The service doesn't load <code>.env</code> files: whatever starts it must.</li>
<li>Sizes are in bytes; KB and MB are powers of 1,024. All instances that share a database need the same settings.</li>
<li><code>agent-memory doctor</code> checks the settings, and says how to fix what it finds.</li>
</ul>
${settingGroups.map(
  ([name, settings]) => html`<h2 id="${anchorOf(name)}"><a class="anchor" href="#${anchorOf(name)}">${name}</a></h2>
<table class="fields"><thead><tr><th scope="col">Variable and default</th><th scope="col">Meaning</th></tr></thead>
<tbody>${settings.map(row)}</tbody></table>\n`
)}`
  })

const hints = new Map(problems.map(({ code, hint }) => [code, hint]))

const presence = ({ place, required }: Field): string => {
  if (place === "response") return required ? "" : ", may be missing"
  return `${place === "body" ? "" : `, ${place}`}, ${required ? "required" : "optional"}`
}

const fieldTable = (caption: string, fields: ReadonlyArray<Field>) =>
  fields.length > 0 &&
  html`<table class="fields"><caption>${caption}</caption>
<thead><tr><th scope="col">Name and type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map((field) => {
    const { name, schema } = field
    const meaning = [resolve(schema).description ?? "", boundsOf(schema)].filter((text) => text !== "").join(" ")
    return html`<tr><th scope="row"><code>${name}</code><br><span class="muted">${typeOf(schema) + presence(field)}</span></th><td>${inlineCode(meaning)}</td></tr>`
  })}</tbody></table>`

const errorTable = (operation: Operation): Html =>
  html`<details><summary>Errors of ${operation.summary}</summary><table class="fields errors"><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">What to do</th></tr></thead>
<tbody>${failuresOf(operation).map(
    ({ code, status }) =>
      html`<tr><td>${status}</td><th scope="row"><a href="/docs/errors#${code}"><code>${code}</code></a></th><td>${inlineCode(hints.get(code) ?? "")}</td></tr>`
  )}</tbody></table></details>`

const operationSection = (operation: Operation, baseUrl: string): Html => {
  const { description = "", method, operationId, parameters, path, requestBody, responses, summary } = operation
  const given = parameters.map(({ in: place, name, required, schema }): Field => ({ name, place, required, schema }))
  const body = schemaOf(requestBody)
  const bodyFields = body === undefined ? [] : fieldsOf(body, "body")
  const [status, success] = Object.entries(responses).find(([code]) => code.startsWith("2")) ?? []
  const response = schemaOf(success)
  const responseFields = response === undefined ? [] : fieldsOf(response, "response")
  return html`<section class="operation" id="${operationId}">
<h2><a class="anchor" href="#${operationId}">${summary}</a></h2>
<p class="call"><span class="method">${method}</span> <code>${path}</code></p>
<div class="operation-parts"><div>
<p>${inlineCode(description)}</p>
${
  body !== undefined &&
  bodyFields.length === 0 &&
  html`<p>The body is the row: ${inlineCode(resolve(body).description ?? "a JSON object.")}</p>`
}
${fieldTable("Request", [...given, ...bodyFields])}
${
  responseFields.length > 0
    ? fieldTable(`Response, ${status}`, responseFields)
    : html`<p>Response, ${status}: ${inlineCode(success?.description ?? "")}</p>`
}
${errorTable(operation)}
</div><div class="examples">
${codeBlock("curl", curlOf(operation, baseUrl))}
${codeBlock("TypeScript", clientOf(operation, baseUrl))}
</div></div></section>\n`
}

/** One group of operations. */
export const groupPage = (group: Group, baseUrl: string): Html =>
  docsPage({
    current: `/docs/${group.id}`,
    title: `${group.name} API`,
    description: group.description,
    body: html`<h1>${group.name}</h1><p class="lead">${inlineCode(group.description)}</p>
${group.operations.map((operation) => operationSection(operation, baseUrl))}`
  })

const groupSummary = ({ description, id, name, operations }: Group): Html =>
  html`<h3><a class="anchor" href="/docs/${id}">${name}</a></h3><p>${inlineCode(description)}</p>
<ul class="operations">${operations.map(
    ({ method, operationId, path, summary }) =>
      html`<li><a href="/docs/${id}#${operationId}">${summary}</a> <span><span class="method">${method}</span> <code>${path}</code></span></li>`
  )}</ul>\n`

const guideSummary = ({ description, name, title }: (typeof documentPages)[number]): Html =>
  html`<li><a href="/docs/${name}">${title}</a> <span>${description}</span></li>`

/** The first page of the documentation: its guides, what applies to every call, and all operations. */
export const overviewPage = (baseUrl: string, idempotencyHours: number): Html =>
  docsPage({
    current: "/docs",
    title: "Documentation",
    description: "Guides to Agent Memory, and every operation of its REST API, with examples.",
    body: html`<h1>Documentation</h1>
<p class="lead">New here? Begin with the <a href="/docs/quick-start">quick start</a>. To connect an agent, follow <a href="/install">the steps for your client</a>.</p>
<h2 id="guides">Guides</h2>
<ul class="guides">${documentPages.map(guideSummary)}</ul>
<p>Agents read <a href="/llms.md"><code>/llms.md</code></a> and <a href="/docs/tools">the tools of <code>/mcp</code></a>. Every setting is under <a href="/docs/configuration">Configuration</a>.</p>
<h2 id="reference">API reference</h2>
<p>JSON over HTTPS, with the API key in one header. The <a href="/openapi.json">OpenAPI document</a> describes the same for programs.</p>
${codeBlock("Every call", `curl '${baseUrl}/v1/_tables' \\\n  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY"`)}
<ul>
<li>Rows come back exactly as you sent them, with <code>id</code>, <code>created_at</code> and <code>updated_at</code> in front.</li>
<li id="idempotency">Send an <code>Idempotency-Key</code> with any write that you may retry. For ${idempotencyHours} hours, the same key returns the first response.</li>
<li>Every response reports the remaining rate limit in <code>RateLimit</code>, and its id in <code>X-Request-Id</code>.</li>
<li>Errors are <code>application/problem+json</code> with a stable <code>code</code>: see <a href="/docs/errors">all errors</a>.</li>
</ul>
${groups().map(groupSummary)}`
  })

const toolSection = ({ annotations, description, inputSchema, name, outputSchema, title }: ListedTool): Html =>
  html`<section class="operation" id="${name}">
<h2><a class="anchor" href="#${name}">${title}</a></h2>
<p class="call"><span class="method">${annotations.readOnlyHint ? "READ" : "WRITE"}</span> <code>${name}</code></p>
<p>${inlineCode(description)}</p>
${toolExample(name)}
${fieldTable("Arguments", fieldsOf(inputSchema as JsonSchema, "body")) || html`<p>It takes no arguments.</p>`}
${fieldTable("Result", fieldsOf(outputSchema as JsonSchema, "response"))}
</section>\n`

const wishTable = (): Html =>
  html`<table class="fields"><caption>Which tool for which wish</caption>
<thead><tr><th scope="col">Wish</th><th scope="col">Tool</th></tr></thead>
<tbody>${wishes.map(({ tool, wish }) => html`<tr><th scope="row">${wish}</th><td>${inlineCode(tool)}</td></tr>`)}</tbody></table>`

const toolExample = (tool: string): Html =>
  html`${toolExamples
    .filter((example) => example.tool === tool)
    .map(
      ({ answer, args, said }) =>
        html`<p>For example: “${said}”</p>${codeBlock("Arguments", JSON.stringify(args, null, 2))}${codeBlock("Result", answer)}`
    )}`

/** The tools of `/mcp`, as agents see them. */
export const toolsPage = (baseUrl: string, limits: Limits): Html =>
  docsPage({
    current: "/docs/tools",
    title: "MCP tools",
    description: "The tools that agents call at /mcp, with their arguments and results.",
    body: html`<h1>MCP tools</h1>
<p class="lead">The tools that agents call at <code>/mcp</code>. They do the same as the REST operations of the same names, with the same limits and the same exact JSON.</p>
${codeBlock("MCP address", `${baseUrl}/mcp`)}
<ul>
<li>A person signs in and chooses what an agent may do: <a href="/install">setup for each client</a>. Agents with read-only access see only the reading tools.</li>
<li>Each result contains the answer twice, as <code>structuredContent</code> and as the same JSON in text.</li>
<li>An error is a result with <code>isError</code>: JSON with the <code>code</code>, <code>detail</code> and <code>hint</code> listed under <a href="/docs/errors">Errors</a>.</li>
<li>Send an <code>idempotencyKey</code> with any write that you may retry: the same key returns the first result.</li>
<li>A client with the address <code>${baseUrl}/mcp?tools=core</code> is told of all tools but the five <code>remember_…</code> ones, which do what <code>remember</code> does.</li>
</ul>
<h2>What to do first</h2>
<p>${inlineCode(firstStep)}</p>
${wishTable()}
${makeTools(limits).described.map(toolSection)}`
  })

const takenBy = ({ parameters, requestBody }: Operation): string => {
  const body = schemaOf(requestBody)
  const fields = [...parameters, ...(body === undefined ? [] : fieldsOf(body, "body"))]
  return fields.map(({ name, schema }) => `${name} ${resolve(schema).description ?? ""}`).join(" ")
}

/** What the search finds: a title, a note below it, an address, and the text that is searched. */
const found = (title: string, note: string, path: string, text: string) => ({
  title,
  note,
  path,
  text: text.toLowerCase()
})

/** What the search looks through: every operation, tool, setting, document section and error. */
export const searchIndex = (limits: Limits): string => {
  const operations = groups().flatMap(({ id, operations }) =>
    operations.map((operation) => {
      const { description = "", method, operationId, path, summary } = operation
      const text = `${summary} ${method} ${path} ${operationId} ${description} ${takenBy(operation)}`
      return found(summary, `${method} ${path}`, `/docs/${id}#${operationId}`, fillLimits(text, limits))
    })
  )
  const settings = settingGroups.flatMap(([group, all]) =>
    all.map(({ meaning, name }) => {
      const text = `${name} ${name.replaceAll("_", " ")} setting environment variable ${group} ${meaning}`
      return found(name, `Setting: ${group}`, `/docs/configuration#${name}`, text)
    })
  )
  const documents = documentPages.flatMap(({ description, name, title: page }) => [
    found(page, description, `/docs/${name}`, `${page} ${description}`),
    ...documentOf(name).sections.map(({ id, text, title }) =>
      found(title, page, `/docs/${name}#${id}`, `${title} ${page} ${text}`)
    )
  ])
  return JSON.stringify([
    found("Idempotency", "Writes that may be sent twice", "/docs#idempotency", "idempotency key writes retry twice"),
    ...operations,
    ...makeTools(limits).described.map(({ description, name, title }) =>
      found(name, `MCP tool: ${title}`, `/docs/tools#${name}`, `${name} ${title} mcp tool ${description}`)
    ),
    ...settings,
    ...documents,
    ...problems.map(({ code, hint, title }) => found(code, title, `/docs/errors#${code}`, `${code} ${title} ${hint}`))
  ])
}
