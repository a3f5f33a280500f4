import { Effect } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { rpcOf } from "../../support/Mcp.ts"
import { connectedAccount } from "../../support/ModelRun.ts"
import { callMcp, newPerson } from "../../support/OAuth.ts"
import { bodyOf, request } from "../../support/TestService.ts"
import { rpc } from "../mcp/Messages.ts"
import { linkDoors, mcpDoors, publicDoors, restDoors, type Door, type ListedTool } from "./Doors.ts"

// In milliseconds of processor time.
const longestBlock = 200
const mib = 1_048_576
// What a process holds beside the bodies that it works on: what it has not collected yet, in bytes.
const garbage = 32 * mib

const send = (url: string, { headers, method }: Door, path: string, body: string | undefined) =>
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
  const { text } = yield* send(url, door, door.path, `{"a":"${"x".repeat(largest)}"}`)
  const said = /"limit":(\d+)|may have (\d+) bytes/.exec(text)
  return Number(said?.[1] ?? said?.[2] ?? largest)
})

/**
 * Sends the worst requests of the doors one after another, of so many one, until `isOver`; what was wrong with them. What is
 * at one place changes with the next one, so that a few have everything somewhere.
 */
export const walk = Effect.fnUntraced(function* (
  doors: ReadonlyArray<Door>,
  oneOf = 1,
  isOver: Effect.Effect<boolean> = Effect.succeed(false)
) {
  const service = yield* BoundedService
  const faults: Array<string> = []
  yield* service.strain
  let index = 0
  for (const door of doors) {
    for (const worst of door.worst(yield* limitOf(service.url, door))) {
      if (index++ % oneOf !== 0) continue
      if (yield* isOver) return faults
      const body = worst.body?.()
      const sent = (body ?? worst.path).length
      const { status, text } = yield* send(service.url, door, worst.path, body)
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

/** The doors of the REST interface, for a new account. */
export const ofRest = Effect.map(connectedAccount, restDoors)

/** The doors of links, pages and OAuth, for a new account and a person who is signed in. */
export const ofPages = Effect.gen(function* () {
  const { apiKey: key } = yield* connectedAccount
  const { id } = bodyOf<{ id: string }>(yield* request("POST", "/v1/notes", { key, body: '{"n":1}' }))
  const linkOf = Effect.fnUntraced(function* (kind: string, body: object) {
    const made = yield* request("POST", `/v1/${kind}`, { key, body: JSON.stringify(body) })
    return new URL(bodyOf<{ viewer_url: string }>(made).viewer_url).pathname
  })
  const row = yield* linkOf("_row_links", { table: "notes", id })
  const query = yield* linkOf("_query_links", { table: "notes" })
  const { cookie } = yield* newPerson
  return [...linkDoors(row, query), ...publicDoors(cookie)]
})

/** The methods and tools of /mcp, for a new connection. */
export const ofMcp = Effect.gen(function* () {
  const { token = "" } = yield* connectedAccount
  const listed = yield* callMcp(token, { body: JSON.stringify(rpc("tools/list")) })
  return mcpDoors(token, rpcOf<{ result: { tools: ReadonlyArray<ListedTool> } }>(listed).result.tools)
})
