import { createServer, type IncomingMessage } from "node:http"
import { createRequire } from "node:module"
import { join } from "node:path"
import { statements } from "../FloorStatements.ts"

// The floor of the stack: node:http and pg with one statement a request, and nothing of what the service does besides.

interface Pool {
  readonly query: (query: {
    readonly name: string
    readonly text: string
    readonly values: ReadonlyArray<unknown>
  }) => Promise<{ readonly rows: ReadonlyArray<Record<string, unknown>> }>
}

const [port, databaseUrl, packages, connections] = process.argv.slice(2)
const { Pool } = createRequire(join(packages!, "package.json"))("pg") as {
  readonly Pool: new (options: object) => Pool
}
const pool = new Pool({ connectionString: databaseUrl, max: Number(connections) })

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString())
}

const valuesOf = async (account: string, name: string, request: IncomingMessage, url: URL) => {
  switch (name) {
    case "query":
      return [account, url.searchParams.get("filter"), Number(url.searchParams.get("limit")) + 1]
    case "count":
      return [account, url.searchParams.get("filter")]
    case "upsert": {
      const { key, row } = (await bodyOf(request)) as { readonly key: string; readonly row: Record<string, unknown> }
      return [account, row[key], JSON.stringify(row)]
    }
    case "batch": {
      const { operations } = (await bodyOf(request)) as { readonly operations: ReadonlyArray<{ readonly row: object }> }
      return [account, operations.map(({ row }) => JSON.stringify(row))]
    }
    case "update_row": {
      const { id, patch } = (await bodyOf(request)) as { readonly id: number; readonly patch: object }
      return [account, id, JSON.stringify(patch)]
    }
    case "restore": {
      const { id } = (await bodyOf(request)) as { readonly id: number }
      return [account, id]
    }
    default:
      return [account, JSON.stringify(await bodyOf(request))]
  }
}

const answerOf = (name: string, rows: ReadonlyArray<Record<string, unknown>>) => {
  const whole = rows.map(({ data, id }) => ({ id, ...(data as object) }))
  switch (name) {
    case "query":
      return { rows: whole.slice(0, 25), has_more: rows.length > 25 }
    case "count":
      return rows[0]
    case "batch":
      return { results: whole }
    default:
      return whole[0]
  }
}

createServer(async (request, response) => {
  const url = new URL(request.url!, "http://localhost")
  const [, account, name] = url.pathname.split("/")
  try {
    const text = statements[name!]
    if (text === undefined) {
      response.writeHead(200, { "content-length": 2 }).end("ok")
      return
    }
    const { rows } = await pool.query({ name: name!, text, values: await valuesOf(account!, name!, request, url) })
    const body = JSON.stringify(answerOf(name!, rows))
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body)
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
}).listen(Number(port), "127.0.0.1")
