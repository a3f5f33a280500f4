import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { rpcOf } from "../../support/Mcp.ts"
import { connectedAccount } from "../../support/ModelRun.ts"
import { callMcp, newPerson } from "../../support/OAuth.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"
import { rpc } from "../mcp/Messages.ts"
import { linkDoors, mcpDoors, publicDoors, restDoors, type Door, type ListedTool, type Worst } from "./Doors.ts"

// The sweep of `npm run test:long` sends all of them.
const everyThird = (index: number) => index % 3 === 0
const everySeventh = (index: number) => index % 7 === 0

// In milliseconds of processor time.
const longestBlock = 200
const mib = 1_048_576
// What a process holds beside the bodies that it works on: what it has not collected yet, in bytes.
const garbage = 32 * mib

const send = (url: string, { headers, method }: Door, { body, path }: Omit<Worst, "what">) =>
  Effect.promise(async () => {
    try {
      const init = { method, headers, redirect: "manual", signal: AbortSignal.timeout(60_000) } as const
      const response = await fetch(url + path, body === undefined ? init : { ...init, body })
      return { status: response.status, text: await response.text() }
    } catch (error) {
      return { status: 0, text: String(error instanceof Error ? error.cause : error) }
    }
  })

/** How long a body a door lets in, as its refusal of a larger one says. */
const limitOf = Effect.fnUntraced(function* (url: string, door: Door) {
  if (door.limit !== undefined) return door.limit
  const largest = 33 * mib
  const { text } = yield* send(url, door, { path: door.path, body: `{"a":"${"x".repeat(largest)}"}` })
  const said = /"limit":(\d+)|may have (\d+) bytes/.exec(text)
  return Number(said?.[1] ?? said?.[2] ?? largest)
})

/** Sends the worst requests of the doors one after another (`takes` says which); what was wrong with them. */
const walk = Effect.fnUntraced(function* (doors: ReadonlyArray<Door>, takes: (index: number) => boolean = () => true) {
  const service = yield* BoundedService
  const faults: Array<string> = []
  yield* service.strain
  let index = 0
  for (const door of doors) {
    for (const worst of door.worst(yield* limitOf(service.url, door))) {
      if (!takes(index++)) continue
      const sent = (worst.body ?? worst.path).length
      const { status, text } = yield* send(service.url, door, worst)
      const { blocked, grown } = yield* service.strain
      const found = [
        ...(blocked > longestBlock ? [`blocked ${Math.round(blocked)} ms`] : []),
        ...(grown > 5 * sent + garbage ? [`grew by ${Math.round(grown / mib)} MB`] : []),
        ...(status === 0 || status >= 500 ? [`${status} ${text.slice(0, 200)}`] : [])
      ]
      if (found.length > 0) faults.push(`${door.name}, ${worst.what}, ${sent} bytes: ${found.join(", ")}`)
      if (service.hasEnded()) return [...faults, service.output().slice(-2000)]
    }
  }
  return faults
})

layer(Layer.provideMerge(BoundedService.layer, serviceLayer()), { excludeTestServices: true, timeout: "240 seconds" })(
  "P34 The worst body at any door",
  (it) => {
    it.effect(
      "stalls no operation of the REST interface",
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* walk(restDoors(yield* connectedAccount), everyThird), [])
        }),
      240_000
    )

    it.effect(
      "stalls no link, page or request of OAuth",
      () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* connectedAccount
          const { id } = bodyOf<{ id: string }>(yield* request("POST", "/v1/notes", { key, body: '{"n":1}' }))
          const linkOf = Effect.fnUntraced(function* (kind: string, body: object) {
            const made = yield* request("POST", `/v1/${kind}`, { key, body: JSON.stringify(body) })
            return new URL(bodyOf<{ viewer_url: string }>(made).viewer_url).pathname
          })
          const row = yield* linkOf("_row_links", { table: "notes", id })
          const query = yield* linkOf("_query_links", { table: "notes" })
          const { cookie } = yield* newPerson
          assert.deepStrictEqual(yield* walk([...linkDoors(row, query), ...publicDoors(cookie)]), [])
        }),
      240_000
    )

    it.effect(
      "stalls no method or tool of /mcp",
      () =>
        Effect.gen(function* () {
          const { token = "" } = yield* connectedAccount
          const listed = yield* callMcp(token, { body: JSON.stringify(rpc("tools/list")) })
          const { tools } = rpcOf<{ result: { tools: ReadonlyArray<ListedTool> } }>(listed).result
          assert.deepStrictEqual(yield* walk(mcpDoors(token, tools), everySeventh), [])
        }),
      240_000
    )
  }
)
