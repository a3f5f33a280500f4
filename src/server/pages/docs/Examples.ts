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

/** A value of a sample in TypeScript, with the reader's own from the environment; on one line if that is short. */
const literal = (value: unknown): string => {
  const lines = JSON.stringify(value, null, 2)
    .replaceAll(/"\$([A-Z_]+)"/g, 'process.env.$1 ?? ""')
    .replaceAll(/^(\s*)"([A-Za-z_]+)":/gm, "$1$2:")
  const line = lines.replaceAll(/\n\s*/g, " ")
  return line.length <= 60 ? line : lines
}

const own = (name: string): string => literal(`$${name}`)

type Sample = (typeof samples)[string]

/** What an operation is called in the client, with the arguments of its sample. */
const calls: Readonly<Record<string, (sample: Sample) => string>> = {
  "auth.magicLink": ({ body }) => `signIn.magicLink(${literal((body as { email: string }).email)})`,
  "auth.verify": () => `signIn.verify(${own("TOKEN")})`,
  "tables.list": () => "memory.tables()",
  "tables.search": ({ query }) => `memory.search(${literal(query?.["search"])})`,
  "tables.export": () => "memory.export()",
  "tables.import": ({ body }) => `memory.import(${literal((body as { tables: object }).tables)}, { dryRun: true })`,
  "tables.usage": () => "memory.usage()",
  "keys.list": () => "memory.keys.list()",
  "keys.create": ({ body }) => `memory.keys.create(${literal((body as { name: string }).name)})`,
  "keys.revoke": () => `memory.keys.revoke(${own("KEY_ID")})`,
  "changes.list": () => 'memory.changes({ table: "tasks", limit: 10 })',
  "changes.undo": ({ body }) => `memory.undo(${(body as { change: number }).change}, { dryRun: true })`,
  "versions.list": () => `tasks.versions(${own("ROW_ID")})`,
  "versions.deleted": () => "tasks.deleted()",
  "versions.restore": ({ body }) => `tasks.restore(${literal(body)})`,
  "rows.query": ({ query = {} }) =>
    `tasks.query(${literal({ ...query, filter: JSON.parse(query["filter"]!), limit: Number(query["limit"]) })})`,
  "rows.add": ({ body }) => `tasks.add(${literal(body)})`,
  "rows.delete": ({ body }) => `tasks.delete(${literal((body as { filter: object }).filter)}, { dryRun: true })`,
  "rows.upsert": ({ body }) => `tasks.upsert(${literal(body)})`,
  "rows.batch": ({ body }) => {
    const { operations } = body as { operations: ReadonlyArray<{ action: string; row?: object }> }
    const calls = operations.map(({ action, row, ...rest }) => {
      const method = action.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      return `  b.${method}(${literal(row ?? rest).replaceAll("\n", "\n  ")})`
    })
    return `tasks.batch((b) => [\n${calls.join(",\n")}\n])`
  },
  "rows.updateRow": ({ body }) => `tasks.updateRow(${literal(body)})`,
  "rows.updateWhere": ({ body }) => `tasks.updateWhere(${literal(body)})`,
  "rows.count": ({ query = {} }) =>
    `tasks.summarize(${literal({ by: query["by"], filter: JSON.parse(query["filter"]!) })})`,
  "links.row": ({ body }) => `memory.links.row(${literal(body)})`,
  "links.textField": ({ body }) => `memory.links.textField(${literal(body)})`,
  "links.query": ({ body }) => `memory.links.query(${literal(body)})`,
  "connections.list": () => "memory.connections.list()",
  "connections.revoke": () => `memory.connections.revoke(${own("KEY_ID")})`,
  "account.delete": ({ body }) => `memory.deleteAccount(${literal((body as { email: string }).email)})`
}

/** The call in TypeScript with the client. */
export const clientOf = ({ operationId }: Operation, baseUrl: string): string => {
  const call = calls[operationId]!(samples[operationId] ?? {})
  const isSignIn = call.startsWith("signIn.")
  const base = `baseUrl: ${literal(baseUrl)}`
  return [
    `import { ${isSignIn ? "createSignIn" : "createClient"} } from "agent-memory/client"`,
    "",
    isSignIn
      ? `const signIn = createSignIn({ ${base} })`
      : `const memory = createClient({\n  apiKey: process.env.AGENT_MEMORY_API_KEY ?? "",\n  ${base}\n})`,
    ...(call.startsWith("tasks.") ? ['const tasks = memory.table("tasks")'] : []),
    "",
    operationId === "account.delete" ? `await ${call}` : `console.log(await ${call})`
  ].join("\n")
}
