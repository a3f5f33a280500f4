import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { loadavg } from "node:os"
import { backup, backupRow } from "../../support/Backups.ts"
import { BoundedService } from "../../support/BoundedService.ts"
import { longestBlock } from "../../support/LongestTurn.ts"
import { connectedAccount, type Account } from "../../support/ModelRun.ts"
import { call, type Reply } from "../../support/ServiceProcess.ts"
import { serviceLayer } from "../../support/TestService.ts"

const mib = 1_048_576
const rowBytes = 65_000
/** More than any of these tables, and far less than what a process may hold. */
const mostGrown = 150 * mib

/** As many of the longest rows as so many bytes have, filled with a piece. */
const rowsOf = (bytes: number, piece: string, own: (filled: string) => string): ReadonlyArray<string> => {
  const filled = piece.repeat(Math.floor((rowBytes - 200) / Buffer.byteLength(piece)))
  return Array.from({ length: Math.floor(bytes / rowBytes) }, (_, n) => backupRow(n, own(filled)))
}

/** What all words of a search for many have, at the end of each text. */
const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
const text = (filled: string) => `"text":"${filled} ${letters}"`

const tables = {
  accents: () => rowsOf(24 * mib, "é", text),
  "ligatures of 18 letters": () => rowsOf(6 * mib, "ﷺ", text),
  "escaped text": () => rowsOf(24 * mib, "\\u0001", text),
  "long arrays": () => rowsOf(24 * mib, '"é",', (filled) => `"text":[${filled}"é"]`),
  "long numbers": () => rowsOf(24 * mib, "8", (filled) => `"text":-${filled}`),
  "far numbers": () => Array.from({ length: 1000 }, (_, n) => backupRow(n, `"text":1e${n % 2 === 0 ? "-" : ""}1999`)),
  "many fields": () =>
    Array.from({ length: 300 }, (_, n) =>
      backupRow(n, Array.from({ length: 5000 }, (_, field) => `"${n}a${field}":0`).join())
    ),
  "ligatures in memory": () => rowsOf(3 * mib, "ﷺ", text)
}

const filters: Readonly<Record<string, object>> = {
  "a text that ends like none": { text: { contains: `b${"a".repeat(180)}` } },
  "an element": { text: { has: "é" } },
  "keys that are cut": { text: { gte: "é".repeat(250), ne: "é".repeat(300) } },
  "50 fields that no row has": Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`a${n}`, { exists: false }]))
}

const query = (parameters: Readonly<Record<string, string>>): string =>
  `/v1/t?limit=1&${new URLSearchParams(parameters)}`

/** A batch that searches the whole table again and again. */
const batch = (filter: object): string => {
  const operation = { action: "update_where", filter, patch: { text: 1 }, allowMultiple: true }
  const never = { ...operation, filter: { ...filter, id: { lt: "" } } }
  return JSON.stringify({ operations: Array.from({ length: 100 }, () => never) })
}

/** Searches full tables of some kinds, beside the requests of another account, until `isOver`. */
export const stallNobody = (
  names: ReadonlyArray<keyof typeof tables>,
  isOver: Effect.Effect<boolean> = Effect.succeed(false)
): void =>
  layer(Layer.provideMerge(BoundedService.thriftyLayer, serviceLayer()), {
    excludeTestServices: true,
    timeout: "120 seconds"
  })("P34 What looks into every text of an account", (it) => {
    for (const name of names) {
      const rows = tables[name]()
      it.effect(
        `stalls nobody and takes little memory: ${name}`,
        () =>
          Effect.gen(function* () {
            if (yield* isOver) return
            const service = yield* BoundedService
            const [full, small] = [yield* connectedAccount, yield* connectedAccount]
            const send = (account: Account, path: string, body?: string) =>
              call(service.url + path, { key: account.apiKey, ...(body === undefined ? {} : { body }) })
            // A busy machine may keep the test from sending until it is hung up on, as slow senders are.
            const sent = Effect.retry(send(full, "/v1/_import", backup({ t: rows })), { times: 2 })
            const stored = yield* Effect.repeat(sent, { until: ({ status }) => status !== 503, times: 4 })
            assert.strictEqual(stored.status, 200, stored.text)
            yield* send(small, "/v1/notes/upsert", '{"key":"n","row":{"n":1}}')

            const found: Array<string> = []
            const look = Effect.fnUntraced(function* <E>(what: string, request: Effect.Effect<Reply, E>) {
              yield* service.strain
              let longest = 0
              const asking = Effect.gen(function* () {
                const before = performance.now()
                assert.strictEqual((yield* send(small, "/v1/notes?limit=5")).status, 200)
                longest = Math.max(longest, performance.now() - before)
              })
              const others = yield* Effect.forkScoped(Effect.forever(asking))
              // On a busy machine the database, too, may be slow to answer.
              const { status, text } = yield* Effect.repeat(request, {
                until: ({ status }) => status !== 503,
                times: 2
              })
              yield* Fiber.interrupt(others)
              const { blocked, grown } = yield* service.strain
              const isServed =
                status === 200 ||
                (status === 503 && loadavg()[0]! > 1) ||
                text.includes("would search more text than one batch may")
              const told = `${what}: ${status}, blocked ${Math.round(blocked)} ms, kept others ${Math.round(longest)} ms, grew ${Math.round(grown / mib)} MB`
              process.stdout.write(`${name}, ${told}\n`)
              // One second is promised where nobody else uses the machine.
              const isSlow = blocked > longestBlock() || longest > 10 * longestBlock()
              if (isSlow || grown > mostGrown || !isServed) found.push(`${told} ${text.slice(0, 200)}`)
            })

            yield* look("many words", send(full, query({ search: Array.from(letters).join(" ") })))
            yield* look("a word that is nowhere", send(full, query({ search: "صلى nowhere" })))
            for (const [what, filter] of Object.entries(filters)) {
              yield* look(what, send(full, query({ filter: JSON.stringify(filter) })))
              if (what !== "50 fields that no row has")
                yield* look(`100 times ${what}`, send(full, "/v1/t/batch", batch(filter)))
            }
            const measures = ["by", "sum", "min", "max", "avg"].map((name) => [name, "text"])
            yield* look("sums", send(full, `/v1/t/count?${new URLSearchParams(Object.fromEntries(measures))}`))
            const names = Array.from({ length: 50 }, (_, n) => `a${n}`).join()
            yield* look("fields", send(full, `/v1/t?limit=1000&fields=${names}`))
            yield* look("a note on a field that is not there", send(full, query({ sort: "x".repeat(5000) })))
            yield* look("the fields of all tables", send(full, "/v1/_tables?include=fields"))
            const { next_cursor: cursor = "" } = JSON.parse(
              (yield* send(full, "/v1/t?limit=3&sort=text&fields=none")).text
            ) as { readonly next_cursor?: string }
            const scattered = Buffer.alloc(11_500, "\u0002\u0000").toString("base64url")
            yield* look("a page", send(full, query({ sort: "text", cursor: cursor.replace(/-g.*/, `-g${scattered}`) })))
            yield* look("all tables", send(full, "/v1/_search?search=8%20none"))
            assert.deepStrictEqual(found, [])
          }),
        240_000
      )
    }
  })
