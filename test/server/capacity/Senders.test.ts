import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { Capacity } from "../../../src/server/capacity/Capacity.ts"
import { BodyTimes } from "../../../src/server/capacity/ReadBody.ts"
import { newConnection } from "../../support/Mcp.ts"
import { head, opened, untilClosed } from "../../support/RawConnections.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"
import { makeLinks } from "../links/LinkCalls.ts"

const times = { turn: 300, silence: 15_000, whole: 40_000 }

/** A key, a connection and a link of one account, and another key of it. */
const senders = Effect.gen(function* () {
  const { accountId, apiKey: key, token } = yield* newConnection()
  const { id, updated_at } = bodyOf<{ id: string; updated_at: string }>(
    yield* request("POST", "/v1/notes", { key, body: "{}" })
  )
  const { view } = yield* makeLinks(key, "row", { table: "notes", id })
  const made = yield* request("POST", "/v1/_keys", { key, body: '{"name":"other"}' })
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  return {
    accountId,
    key: { method: "POST", path: "/v1/notes", credential: key, body: '{"n":1}', status: 201 },
    connection: { method: "POST", path: "/mcp", credential: token, body: ping, status: 200 },
    link: {
      method: "PATCH",
      path: view,
      credential: undefined,
      body: JSON.stringify({ updated_at, patch: { n: 1 } }),
      status: 200
    },
    other: bodyOf<{ api_key: string }>(made).api_key
  }
})

type Sent = Effect.Success<typeof senders>["key" | "connection" | "link"]

/** Sends a request but for the last byte of its body. */
const unfinished = ({ body, credential, method, path }: Sent) =>
  opened(
    head(method, path, {
      Authorization: credential === undefined ? undefined : `Bearer ${credential}`,
      Accept: "application/json, text/event-stream",
      Connection: "close",
      "Content-Type": "application/json",
      "Content-Length": String(body.length)
    }) + body.slice(0, -1)
  )

/** How many unfinished bodies an account may have. */
const most = 64

/** Waits until so many bodies of the account are being read that are not all here yet. */
const untilRead = Effect.fnUntraced(function* (accountId: string, count: number) {
  const { unfinished } = yield* Capacity
  const isFree = (amount: number) => amount === 0 || unfinished.lacks(accountId, amount) === undefined
  const free = most - count
  yield* Effect.repeat(
    Effect.sync(() => isFree(free) && (count === 0 || !isFree(free + 1))),
    { until: (isRead) => isRead, schedule: Schedule.spaced("10 millis") }
  )
})

layer(serviceLayer().pipe(Layer.provide(Layer.succeed(BodyTimes, times))), { excludeTestServices: true })(
  "Unfinished bodies",
  (it) => {
    for (const kind of ["key", "connection", "link"] as const) {
      it.effect(
        `of one ${kind} are eight at most: a ninth is refused, unlike another key's, or a later one's in the place of a whole one`,
        () =>
          Effect.gen(function* () {
            const all = yield* senders
            const sent: Sent = all[kind]
            const eight = yield* Effect.forEach(Array.from({ length: 8 }), () => unfinished(sent))
            yield* untilRead(all.accountId, 8)
            assert.match(yield* untilClosed(yield* unfinished(sent)), /^HTTP\/1\.1 503 /)

            const other = yield* unfinished({ ...all.key, credential: all.other })
            yield* untilRead(all.accountId, 9)
            other.write("}")
            assert.match(yield* untilClosed(other), /^HTTP\/1\.1 201 /)

            eight[0]!.write("}")
            assert.match(yield* untilClosed(eight[0]!), new RegExp(`^HTTP/1\\.1 ${sent.status} `))
            yield* untilRead(all.accountId, 7)
            yield* unfinished(sent)
            yield* untilRead(all.accountId, 8)
          })
      )
    }

    it.effect(
      "of all keys, connections and links of one account are sixty-four at most, whatever another account has",
      () =>
        Effect.gen(function* () {
          const all = yield* senders
          const others = yield* Effect.forEach(Array.from({ length: 6 }), (_, n) =>
            Effect.map(
              request("POST", "/v1/_keys", { key: all.key.credential, body: `{"name":"key ${n}"}` }),
              (made) => bodyOf<{ api_key: string }>(made).api_key
            )
          )
          const sent = [all.key, all.connection, ...others.map((credential) => ({ ...all.key, credential }))]
          const bodies = yield* Effect.forEach(
            sent.flatMap((one) => Array.from({ length: 8 }, () => one)),
            unfinished
          )
          yield* untilRead(all.accountId, most)
          assert.match(yield* untilClosed(yield* unfinished(all.link)), /^HTTP\/1\.1 503 /)

          const another = yield* senders
          const elsewhere = yield* unfinished(another.key)
          yield* untilRead(another.accountId, 1)
          elsewhere.write("}")
          assert.match(yield* untilClosed(elsewhere), /^HTTP\/1\.1 201 /)

          bodies[0]!.write("}")
          assert.match(yield* untilClosed(bodies[0]!), /^HTTP\/1\.1 201 /)
          const next = yield* unfinished(all.link)
          yield* untilRead(all.accountId, most)
          next.write("}")
          assert.match(yield* untilClosed(next), /^HTTP\/1\.1 200 /)
        })
    )
  }
)
