import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { createServer, type Server } from "node:http"
import { backup, backupRow } from "../support/Backups.ts"
import { DatabaseUrl } from "../support/Database.ts"
import { call, makeFolder, startService, type ServiceProcess } from "../support/ServiceProcess.ts"
import { signIn } from "../server/instances/TwoInstances.ts"

/** A service of its own process, that the commands talk to. */
export class Running extends Context.Service<Running, ServiceProcess>()("agent-memory/test/cli/Transfers/Running") {
  static readonly layer = Layer.effect(
    Running,
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      return yield* startService({ DATABASE_URL: url, LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "1000" })
    })
  )
}

/** An account with its rows, a folder, and the variables of whoever works there. */
export const given = Effect.fnUntraced(function* (name: string, rows: string) {
  const { url } = yield* Running
  const key = yield* signIn(url, `${name}@example.com`)
  const imported = yield* call(`${url}/v1/_import`, { key, body: rows })
  assert.strictEqual(imported.status, 200, imported.text)
  const folder = yield* makeFolder
  return { key, folder, variables: { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url } }
})

/** Another account, as an environment. */
export const another = Effect.fnUntraced(function* (name: string) {
  const { url } = yield* Running
  const key = yield* signIn(url, `${name}@example.com`)
  return { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url }
})

/** What the service exports for a key. */
export const exported = Effect.fnUntraced(function* (key: string) {
  const { url } = yield* Running
  return (yield* call(`${url}/v1/_export`, { key })).text
})

/** Members of a row that are hard to keep. */
export const odd = String.raw`"":1.10,"__proto__":12345678901234567890,"s":"\u0000\ud800 é","10":1e400,"o":{"b":[],"a":null}`
/** A small export. */
export const small = backup({ notes: [backupRow(2, odd), backupRow(1)], tasks: [backupRow(3, '"n":1')] })

/** Answers every request in this way until the scope closes, and counts them. */
export const fakeService = Effect.fnUntraced(function* (
  answer: (path: string, count: number) => readonly [number, string]
) {
  let count = 0
  const server = yield* Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer((request, response) => {
        request.resume().on("end", () => {
          const [status, body] = answer(request.url ?? "", ++count)
          response.writeHead(status, { "content-type": "application/json", "retry-after": "1" }).end(body)
        })
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, count: () => count }
})
