import type { ServiceLimits } from "../../Config.ts"
import { codeBlock } from "../CodeBlock.ts"
import { escapeHtml } from "../Html.ts"
import { settingEntries } from "./ConfigurationPage.ts"
import { documentEntries } from "./DocumentPages.ts"
import { docsPage, inlineCode } from "./DocsPage.ts"
import { curlOf, fetchOf } from "./Examples.ts"
import { failuresOf, type Group, groups, type Operation, resolve, schemaOf } from "./OpenApi.ts"
import { problems } from "./Problems.ts"
import { type Field, fieldsOf, fieldTable } from "./Shape.ts"
import { toolEntries } from "./ToolsPage.ts"

const hints = new Map(problems.map(({ code, hint }) => [code, hint]))

const address = ({ method, path }: Operation): string =>
  `<p class="call"><span class="method">${method}</span> <code>${escapeHtml(path)}</code></p>`

const errorTable = (operation: Operation): string =>
  `<details><summary>Errors of ${escapeHtml(operation.summary)}</summary><table class="fields errors"><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">What to do</th></tr></thead>
<tbody>${failuresOf(operation)
    .map(
      ({ code, status }) =>
        `<tr><td>${status}</td><th scope="row"><a href="/docs/errors#${code}"><code>${code}</code></a></th><td>${inlineCode(hints.get(code) ?? "")}</td></tr>`
    )
    .join("")}</tbody></table></details>`

const operationSection = (operation: Operation, baseUrl: string): string => {
  const { operationId, parameters, requestBody, responses, summary } = operation
  const given: ReadonlyArray<Field> = parameters.map(({ in: place, name, required, schema }) => ({
    name,
    place,
    required,
    schema
  }))
  const body = schemaOf(requestBody)
  const [status, success] = Object.entries(responses).find(([code]) => code.startsWith("2")) ?? []
  const answer = schemaOf(success)
  const answerFields = answer === undefined ? [] : fieldsOf(answer, "answer")
  const bodyFields = body === undefined ? [] : fieldsOf(body, "body")
  const freeBody =
    body !== undefined && bodyFields.length === 0
      ? `<p>The body is the row: ${inlineCode(resolve(body).description ?? "a JSON object.")}</p>`
      : ""
  return `<section class="operation" id="${operationId}">
<h2><a class="anchor" href="#${operationId}">${escapeHtml(summary)}</a></h2>
${address(operation)}
<div class="operation-parts"><div>
<p>${inlineCode(operation.description ?? "")}</p>
${freeBody}
${fieldTable("Request", [...given, ...bodyFields])}
${answerFields.length > 0 ? fieldTable(`Answer, ${status}`, answerFields) : `<p>Answer, ${status}: ${inlineCode(success?.description ?? "")}</p>`}
${errorTable(operation)}
</div><div class="examples">
${codeBlock("curl", curlOf(operation, baseUrl))}
${codeBlock("TypeScript", fetchOf(operation, baseUrl))}
</div></div></section>`
}

/** One group of operations. */
export const groupPage = (group: Group, baseUrl: string): string =>
  docsPage({
    current: `/docs/${group.id}`,
    title: `${group.name} API`,
    description: group.description,
    body: `<h1>${group.name}</h1><p class="lead">${inlineCode(group.description)}</p>
${group.operations.map((operation) => operationSection(operation, baseUrl)).join("\n")}`
  })

/** Where the reference begins: what holds for every call, and all operations. */
export const overviewPage = (baseUrl: string, idempotencyHours: number): string =>
  docsPage({
    current: "/docs",
    title: "API reference",
    description: "Every operation of the Agent Memory REST API, with examples.",
    body: `<h1>API reference</h1>
<p class="lead">JSON over HTTPS, with one header for the key.</p>
${codeBlock("Every call", `curl '${baseUrl}/v1/_tables' \\\n  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY"`)}
<ul>
<li>Rows come back exactly as they were sent, with <code>id</code>, <code>created_at</code> and <code>updated_at</code> in front.</li>
<li>Send an <code>Idempotency-Key</code> with a write that you may repeat. For ${idempotencyHours} hours, the same key gives the first answer.</li>
<li>Every answer says what is left of the rate limit in <code>RateLimit</code>, and its id in <code>X-Request-Id</code>.</li>
<li>Failures are <code>application/problem+json</code> with a stable <code>code</code>: <a href="/docs/errors">all errors</a>.</li>
</ul>
${groups()
  .map(
    ({
      description,
      id,
      name,
      operations
    }) => `<h2><a class="anchor" href="/docs/${id}">${name}</a></h2><p>${inlineCode(description)}</p>
<ul class="operations">${operations.map(({ method, operationId, path, summary }) => `<li><a href="/docs/${id}#${operationId}">${escapeHtml(summary)}</a> <span><span class="method">${method}</span> <code>${escapeHtml(path)}</code></span></li>`).join("")}</ul>`
  )
  .join("\n")}
<p>For agents: <a href="/docs/tools">the tools of <code>/mcp</code></a>. For programs: <a href="/openapi.json">OpenAPI document</a>. For operators: <a href="/docs/configuration">every setting</a>, <a href="/docs/deployment">deployment</a> and <a href="/docs/security">security</a>.</p>`
  })

/** What the search looks through: every operation, tool and error. */
export const searchIndex = (limits: ServiceLimits): string =>
  JSON.stringify([
    ...groups().flatMap(({ id, operations }) =>
      operations.map(({ description = "", method, operationId, path, summary }) => ({
        title: summary,
        note: `${method} ${path}`,
        path: `/docs/${id}#${operationId}`,
        text: `${summary} ${method} ${path} ${operationId} ${description}`.toLowerCase()
      }))
    ),
    ...toolEntries(limits),
    ...settingEntries(),
    ...documentEntries(),
    ...problems.map(({ code, hint, title }) => ({
      title: code,
      note: title,
      path: `/docs/errors#${code}`,
      text: `${code} ${title} ${hint}`.toLowerCase()
    }))
  ])
