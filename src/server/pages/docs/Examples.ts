import type { Operation } from "./OpenApi.ts"

/** Parameters and a body that work as they are, for each operation that takes some. */
const samples: Readonly<
  Record<string, { readonly query?: Readonly<Record<string, string>>; readonly body?: unknown }>
> = {
  "auth.magicLink": { body: { email: "ada@example.com" } },
  "auth.verify": { body: { token: "$TOKEN" } },
  "keys.create": { body: { name: "my-app production" } },
  "tables.import": {
    query: { dry_run: "true" },
    body: {
      tables: {
        tasks: [
          {
            id: "01a21fbe-ea17-7524-a592-a12f985190ab",
            created_at: "2026-11-27T20:07:59.549Z",
            updated_at: "2026-11-27T20:07:59.549Z",
            title: "Buy milk"
          }
        ]
      }
    }
  },
  "tables.search": { query: { search: "milk" } },
  "changes.list": { query: { table: "tasks", limit: "10" } },
  "changes.undo": { query: { dry_run: "true" }, body: { change: 2 } },
  "versions.list": { query: { id: "$ROW_ID" } },
  "versions.restore": { body: { id: "$ROW_ID", version: 1 } },
  "rows.query": { query: { filter: '{"done":false}', search: "milk", sort: "-created_at", limit: "10" } },
  "rows.add": { body: { title: "Buy milk", done: false } },
  "rows.delete": { query: { dry_run: "true" }, body: { filter: { done: true } } },
  "rows.upsert": { body: { key: "title", row: { title: "Buy milk", done: false } } },
  "rows.batch": {
    body: {
      operations: [
        { action: "add", row: { title: "Water plants", done: false } },
        { action: "update_where", filter: { title: "Buy milk" }, patch: { done: true } }
      ]
    }
  },
  "rows.updateRow": {
    body: { id: "$ROW_ID", patch: { done: false }, edits: [{ op: "append", field: "title", text: " and bread" }] }
  },
  "rows.updateWhere": { body: { filter: { title: "Buy milk" }, patch: { done: true } } },
  "links.row": { body: { table: "tasks", id: "$ROW_ID" } },
  "links.textField": { body: { table: "tasks", id: "$ROW_ID", field: "title" } },
  "links.query": { body: { table: "tasks", filter: { done: false }, sort: "-created_at" } },
  "account.delete": { body: { email: "ada@example.com" } },
  "rows.count": { query: { filter: '{"done":false}', by: "list" } }
}

const pathOf = ({ path }: Operation): string => path.replace("{table}", "tasks").replace("{id}", "$KEY_ID")

/** Single quotes for a shell, opened for the variables that the example names. */
const quoted = (text: string): string =>
  /\$[A-Z_]+/.test(text) ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : `'${text.replaceAll("'", "'\\''")}'`

/** The call as a curl line; `$AGENT_MEMORY_API_KEY`, `$ROW_ID`, `$KEY_ID` and `$TOKEN` are the reader's own. */
export const curlOf = (operation: Operation, baseUrl: string): string => {
  const { body, query = {} } = samples[operation.operationId] ?? {}
  // `-G` would send the body in the address too.
  const inAddress = body !== undefined && Object.keys(query).length > 0
  const address = baseUrl + pathOf(operation) + (inAddress ? `?${new URLSearchParams(query).toString()}` : "")
  const parameters = inAddress ? [] : Object.entries(query)
  const lines = [
    `curl ${operation.method === "DELETE" ? "-X DELETE " : ""}${parameters.length > 0 ? "-G " : ""}${quoted(address)}`,
    ...(operation.security.length > 0 ? ['-H "Authorization: Bearer $AGENT_MEMORY_API_KEY"'] : []),
    ...parameters.map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`])
  ]
  return lines.join(" \\\n  ")
}

const literal = (text: string): string =>
  /\$[A-Z_]+/.test(text) ? `\`${text.replaceAll(/\$([A-Z_]+)/g, "${process.env.$1}")}\`` : JSON.stringify(text)

const bodyLiteral = (body: unknown): string =>
  JSON.stringify(body, null, 2)
    .replaceAll(/"\$([A-Z_]+)"/g, "process.env.$1")
    .replaceAll(/^(\s*)"([A-Za-z_]+)":/gm, "$1$2:")
    .replaceAll("\n", "\n  ")

/** The call in TypeScript with `fetch`, as Node and other runtimes have it. */
export const fetchOf = (operation: Operation, baseUrl: string): string => {
  const { body, query = {} } = samples[operation.operationId] ?? {}
  const address = literal(baseUrl + pathOf(operation))
  const parameters = Object.entries(query).map(([name, value]) => `url.searchParams.set("${name}", ${literal(value)})`)
  const headers = [
    ...(operation.security.length > 0 ? ["authorization: `Bearer ${process.env.AGENT_MEMORY_API_KEY}`"] : []),
    ...(body === undefined ? [] : ['"content-type": "application/json"'])
  ]
  const options = [
    ...(operation.method === "GET" ? [] : [`method: "${operation.method}"`]),
    ...(headers.length > 0 ? [`headers: {\n    ${headers.join(",\n    ")}\n  }`] : []),
    ...(body === undefined ? [] : [`body: JSON.stringify(${bodyLiteral(body)})`])
  ]
  return [
    ...(parameters.length > 0 ? [`const url = new URL(${address})`, ...parameters] : []),
    `const response = await fetch(${parameters.length > 0 ? "url" : address}, {\n  ${options.join(",\n  ")}\n})`,
    "console.log(await response.json())"
  ].join("\n")
}
