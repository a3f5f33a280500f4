import type { JsonText } from "../domain/json/JsonText.ts"
import { readTree } from "../domain/json/ReadTree.ts"
import type { AgentMemory } from "./AccountClient.ts"
import { answer, shapes } from "./Answers.ts"
import { checkedFilter } from "./Filters.ts"
import { numberReader } from "./Numbers.ts"
import { checkApiKey, connectionOf, type CallOptions, type ClientOptions } from "./Options.ts"
import { makeRowReader } from "./RowReader.ts"
import { makeSend } from "./Send.ts"
import type { StandardSchema } from "./StandardSchema.ts"
import { makeTable } from "./TableCalls.ts"
import type {
  AnyRow,
  ApiKey,
  Connection,
  CreatedApiKey,
  CreatedLink,
  ImportAnswer,
  KeyPage,
  KeyQuery,
  Stored,
  Table,
  Usage
} from "./Types.ts"

const createdLink = answer<CreatedLink>(shapes.plain, "viewer_url", "download_url", "editable", "expires_at")
const revoked = answer<{ readonly revoked: number }>(shapes.plain, "revoked")

/**
 * Opens an account: `createClient({ apiKey, baseUrl })`. Nothing is sent before the first call. For server-side code
 * only: the key is a secret of the whole account, which neither the client nor its errors show.
 *
 * What fails by 429, 502, 503, 504, the network or a timeout is tried again, up to `maxRetries` times, after a random
 * time that doubles from 250 ms to at most 8 s. A `Retry-After` is waited for first, unless it is over 60 seconds: then
 * the call rejects at once. Throws an `AgentMemoryError` with the code `invalid_options`.
 */
export const createClient = (options: ClientOptions): AgentMemory => {
  const send = makeSend(connectionOf(options, checkApiKey(options.apiKey)))
  const readNumber = numberReader(options.numbers ?? "number")
  const table = (name: string, schema?: StandardSchema) =>
    makeTable(name, send, makeRowReader(name, readNumber, schema))
  const keyPage = ({ cursor, limit }: KeyQuery = {}, options?: CallOptions): Promise<KeyPage> => {
    const query = { cursor, limit: limit?.toString() }
    return send("keys.list", { query }, options, answer<KeyPage>(shapes.plain, "keys"))
  }
  return {
    table: table as AgentMemory["table"],
    tables: async (options) => {
      const read = answer<{ readonly tables: ReadonlyArray<Table> }>(shapes.plain, "tables")
      return (await send("tables.list", {}, options, read)).tables
    },
    export: async (options) => {
      const read = answer<{ readonly tables: Record<string, ReadonlyArray<JsonText>> }>(shapes.withTables, "tables")
      const { tables } = await send("tables.export", {}, options, read)
      return Object.fromEntries(
        Object.entries(tables).map(([name, rows]) => [
          name,
          rows.map(({ text }) => readTree(text, readNumber) as Stored<AnyRow>)
        ])
      )
    },
    exportResponse: (options) => send("tables.export", {}, options, (response) => Promise.resolve(response)),
    import: (tables, options) => {
      const query = options?.dryRun === true ? { dry_run: "true" } : {}
      const read = answer<ImportAnswer>(shapes.plain, "tables", "rows")
      return send("tables.import", { query, body: { tables } }, options, read)
    },
    usage: (options) => send("tables.usage", {}, options, answer<Usage>(shapes.plain, "limits", "remaining")),
    links: {
      row: ({ id, table }, options) => send("links.row", { body: { table, id } }, options, createdLink),
      textField: ({ field, id, table }, options) =>
        send("links.textField", { body: { table, id, field } }, options, createdLink),
      query: async ({ filter, limit, sort, table }, options) => {
        const body = { table, filter: filter && checkedFilter(filter), sort, limit }
        return send("links.query", { body }, options, createdLink)
      }
    },
    keys: {
      list: async (options) => {
        const keys: Array<ApiKey> = []
        for (let cursor: string | undefined; ;) {
          const page = await keyPage(cursor === undefined ? {} : { cursor }, options)
          keys.push(...page.keys)
          cursor = page.next_cursor
          if (cursor === undefined) return keys
        }
      },
      page: keyPage,
      create: (name, options) =>
        send("keys.create", { body: { name } }, options, answer<CreatedApiKey>(shapes.plain, "api_key")),
      revoke: async (id, options) => (await send("keys.revoke", { params: { id } }, options, revoked)).revoked
    },
    connections: {
      list: async (options) => {
        const read = answer<{ readonly connections: ReadonlyArray<Connection> }>(shapes.plain, "connections")
        return (await send("connections.list", {}, options, read)).connections
      },
      revoke: async (id, options) => (await send("connections.revoke", { params: { id } }, options, revoked)).revoked
    }
  }
}
