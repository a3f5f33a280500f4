import { Effect } from "effect"
import { longestBlock } from "../../support/LongestTurn.ts"
import { BoundedService } from "../../support/BoundedService.ts"
import { backup, backupRow } from "../../support/Backups.ts"
import { rpcOf } from "../../support/Mcp.ts"
import { connectedAccount } from "../../support/ModelRun.ts"
import {
  authorizeQuery,
  callMcp,
  hiddenField,
  newClient,
  newPerson,
  openAuthorize,
  pkce,
  postForm
} from "../../support/OAuth.ts"
import { bodyOf, request } from "../../support/TestService.ts"
import { rpc } from "../mcp/Messages.ts"
import type { Door, Worst } from "./Doors.ts"
import { filledAccounts, knownAttacks, manySmallRows } from "./KnownAttacks.ts"
import { mcpDoors } from "./McpDoors.ts"
import { linkDoors, publicDoors } from "./PageDoors.ts"
import { restDoors } from "./RestDoors.ts"
import { faultOf } from "./Verdicts.ts"

const mib = 1_048_576
/**
 * What a request takes beside its body, and beside its answer as text and as bytes: what is not collected yet, in bytes. Where
 * much is made, that can be a tenth of the heap of 256 MB, by which it grows before it is collected.
 */
const slackOf = (made: number): number => (made > 4 * mib ? 26 : 8) * mib
/** Longer than any body may be. */
const tooLong = 33 * mib

const send = (url: string, { headers, method }: Door, path: string, body: string | undefined) =>
  Effect.promise(async () => {
    try {
      const init = { method, headers, redirect: "manual", signal: AbortSignal.timeout(60_000) } as const
      const response = await fetch(url + path, body === undefined ? init : { ...init, body })
      return { status: response.status, location: response.headers.get("location"), text: await response.text() }
    } catch (error) {
      return { status: 0, location: null, text: String(error instanceof Error ? error.cause : error) }
    }
  })

/** How long a body a door lets in, as its refusal of a larger one says. */
const limitOf = Effect.fnUntraced(function* (url: string, door: Door) {
  // Whoever is refused while sending may be hung up on before the refusal is read.
  const { status, text } = yield* Effect.repeat(send(url, door, door.path, `{"a":"${"x".repeat(tooLong)}"}`), {
    until: (answer) => answer.status !== 0,
    times: 2
  })
  const said = /"limit":(\d+)|may have (?:at most )?(\d+) bytes/.exec(text)
  const limit = Number(said?.[1] ?? said?.[2])
  if (Number.isInteger(limit)) return limit
  return yield* Effect.die(new Error(`${door.name} does not say how long a body may be: ${status} ${text}`))
})

/** A request and the door that it goes to. */
interface Sent {
  readonly door: Door
  readonly worst: Worst
}

/** The worst requests of each door. */
export const everyRequest = Effect.fnUntraced(function* (doors: ReadonlyArray<Door>) {
  const { url } = yield* BoundedService
  const limits = new Map<string, number>()
  const requests: Array<ReadonlyArray<Sent>> = []
  for (const door of doors) {
    const limit = door.limit ?? limits.get(`${door.method} ${door.path}`) ?? (yield* limitOf(url, door))
    limits.set(`${door.method} ${door.path}`, limit)
    requests.push(Array.from(door.worst(limit), (worst) => ({ door, worst })))
  }
  return requests
})

const shapesOf = (requests: ReadonlyArray<Sent>): ReadonlySet<string> =>
  new Set(requests.map(({ worst }) => worst.shape))

/**
 * So many of the requests of each door, of other shapes and at other places than those of the door before it, so that each
 * shape comes to a door; dies where there are too few of them for that.
 */
export const someOfEach = (requests: ReadonlyArray<ReadonlyArray<Sent>>, ofEach: number): ReadonlyArray<Sent> => {
  const turns = new Map<string, number>()
  const some = requests.flatMap((ofDoor) => {
    const byShape = [...Map.groupBy(ofDoor, ({ worst }) => worst.shape).values()]
    const kind = [...shapesOf(ofDoor)].join()
    const turn = turns.get(kind) ?? 0
    turns.set(kind, turn + ofEach)
    return Array.from({ length: Math.min(ofEach, byShape.length) }, (_, index) => {
      const ofShape = byShape[(turn + index) % byShape.length]!
      return ofShape[(turn + index) % ofShape.length]!
    })
  })
  const missed = shapesOf(requests.flat()).difference(shapesOf(some))
  if (missed.size > 0) throw new Error(`No door gets ${[...missed].join()}`)
  return some
}

/** Sends a request; what was wrong with it. */
const look = Effect.fnUntraced(function* (door: Door, worst: Worst) {
  const service = yield* BoundedService
  const body = worst.body?.()
  const sent = Buffer.byteLength(body ?? worst.path)
  // A busy machine may keep the sender waiting until it is hung up on, as slow ones are, and the database, too.
  const answer = yield* Effect.repeat(send(service.url, door, worst.path, body), {
    until: ({ status }) => (status !== 0 && status !== 503) || service.hasEnded(),
    times: 2
  })
  const { blocked, grown } = yield* service.strain
  const { makes = 0 } = worst
  const fault = faultOf(answer, worst.expected)
  return [
    ...(blocked > longestBlock() ? [`blocked ${Math.round(blocked)} ms`] : []),
    // What is made is made by and by, and the heap is collected once it has grown by a tenth.
    ...(grown > 5 * sent + 2 * answer.text.length + 1.1 * makes + slackOf(sent + makes)
      ? [`${sent} bytes grew by ${(grown / mib).toFixed(1)} MB`]
      : []),
    ...(fault === undefined ? [] : [fault])
  ]
})

const shorter = <A>(one: ReadonlyArray<A>, other: ReadonlyArray<A>) => (other.length < one.length ? other : one)

/** Sends requests one after another, until `isOver`; what was wrong with them. */
export const walk = Effect.fnUntraced(function* (
  requests: ReadonlyArray<Sent>,
  isOver: Effect.Effect<boolean> = Effect.succeed(false)
) {
  const service = yield* BoundedService
  const faults: Array<string> = []
  yield* service.strain
  for (const { door, worst } of requests) {
    if (yield* isOver) return faults
    // What is not collected yet differs from one time to the next; what a request holds does not.
    const first = yield* look(door, worst)
    const found = first.length === 0 ? first : shorter(first, yield* look(door, worst))
    if (found.length > 0) faults.push(`${door.name}, ${worst.shape} at ${worst.place}: ${found.join(", ")}`)
    if (service.hasEnded()) return [...faults, service.output().slice(-2000)]
  }
  return faults
})

/** A new account with a connection, and the id of a row in its table `notes` that has an earlier version. */
const accountWithRow = Effect.gen(function* () {
  const { apiKey: key, token = "" } = yield* connectedAccount
  const { id } = bodyOf<{ id: string }>(yield* request("POST", "/v1/notes", { key, body: '{"n":1,"kind":"a"}' }))
  yield* request("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"m":1}}` })
  return { apiKey: key, token, id }
})

/** The doors of the REST interface, for a new account. */
export const ofRest = Effect.map(accountWithRow, ({ apiKey, id }) => restDoors(apiKey, id))

/** The doors of links, pages and OAuth, for a new account and a person who is signed in. */
export const ofPages = Effect.gen(function* () {
  const { apiKey: key, id } = yield* accountWithRow
  const linkOf = Effect.fnUntraced(function* (kind: string, body: object) {
    const made = yield* request("POST", `/v1/${kind}`, { key, body: JSON.stringify(body) })
    return new URL(bodyOf<{ viewer_url: string }>(made).viewer_url).pathname
  })
  const row = yield* linkOf("_row_links", { table: "notes", id })
  const query = yield* linkOf("_query_links", { table: "notes" })
  const { cookie: session } = yield* newPerson
  const begun = yield* postForm("/sign-in/email", { email: "somebody@example.com", return_to: "/apps" })
  const cookie = [session, ...begun.headers.getSetCookie().map((set) => set.split(";", 1)[0]!)].join("; ")
  const client = yield* newClient()
  const asked = authorizeQuery(client, pkce().challenge)
  const visitor = {
    cookie,
    clientId: client.client_id,
    proof: hiddenField(yield* request("GET", "/account", { headers: { cookie } }), "proof"),
    asked: Object.fromEntries(new URLSearchParams(asked)),
    askedProof: hiddenField(yield* openAuthorize(asked, cookie), "proof")
  }
  return [...linkDoors(row, query, `notes ${id.slice(0, 8)}`), ...publicDoors(visitor)]
})

/** The methods and tools of /mcp, for a new connection. */
export const ofMcp = Effect.gen(function* () {
  const { id, token } = yield* accountWithRow
  const listed = yield* callMcp(token, { body: JSON.stringify(rpc("tools/list")) })
  const { tools } = rpcOf<{ result: { tools: ReadonlyArray<{ readonly name: string }> } }>(listed).result
  return mcpDoors(
    token,
    tools.map(({ name }) => name),
    id
  )
})

/** The attacks that are known, each on an account that has what it finds. */
export const ofAttacks = Effect.gen(function* () {
  const service = yield* BoundedService
  const open = Effect.map(connectedAccount, ({ apiKey, token = "" }) => ({ apiKey, token }))
  const many = yield* open
  const sent = yield* request("POST", "/v1/_import", { key: many.apiKey, body: manySmallRows })
  if (sent.status !== 200) return yield* Effect.die(new Error(sent.text))
  const empty = yield* Effect.all(Array.from({ length: filledAccounts }, () => open))
  // What runs for the first time stays in memory.
  const warm = {
    method: "POST",
    headers: { authorization: `Bearer ${(yield* open).apiKey}`, "content-type": "application/json" }
  }
  yield* Effect.promise(() => fetch(`${service.url}/v1/_import`, { ...warm, body: backup({ t: [backupRow(1)] }) }))
  return knownAttacks(many, empty)
})
