import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Schedule, Scope } from "effect"
import { Capacity } from "../../../src/server/capacity/Capacity.ts"
import { LeastPace } from "../../../src/server/capacity/Pace.ts"
import { BodyTimes } from "../../../src/server/capacity/ReadBody.ts"
import { callTool, newConnection } from "../../support/Mcp.ts"
import { head, opened, openUnread, untilClosed } from "../../support/RawConnections.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { makeLinks, restore } from "../links/LinkCalls.ts"

const longText = "x".repeat(60_000)

/** An account whose table `big` has so many hundreds of rows of 60 KB. */
const fullAccount = Effect.fnUntraced(function* (hundreds: number) {
  const account = yield* newAccount
  const operations = Array.from({ length: 100 }, () => ({ action: "add", row: { kind: "long", text: longText } }))
  const body = JSON.stringify({ operations })
  for (let n = 0; n < hundreds; n++) {
    const { status, text } = yield* request("POST", "/v1/big/batch", { key: account.apiKey, body })
    assert.strictEqual(status, 200, text)
  }
  return account
})

/** An account with a connection, and a link to a row of which some hundred KB of versions are kept. */
const changedAccount = Effect.gen(function* () {
  const { accountId, apiKey, token } = yield* newConnection()
  const added = yield* request("POST", "/v1/big", { key: apiKey, body: JSON.stringify({ text: longText }) })
  const { id } = bodyOf<{ id: string }>(added)
  for (let n = 0; n < 6; n++) {
    yield* request("POST", "/v1/big/update_row", { key: apiKey, body: JSON.stringify({ id, patch: { n } }) })
  }
  const { view } = yield* makeLinks(apiKey, "row", { table: "big", id })
  return { accountId, apiKey, token, id, view }
})

const mib = 1_048_576
/** What an account may have at once of the room for answers. */
const share = 64 * mib

/** Waits until the account holds room for an answer or an export. */
const untilHeld = Effect.fnUntraced(function* (accountId: string) {
  const { answers, exports } = yield* Capacity
  yield* Effect.repeat(
    Effect.sync(() => answers.lacks(accountId, share) ?? exports.lacks(accountId, 2)),
    { until: (lacks) => lacks !== undefined, schedule: Schedule.spaced("1 millis") }
  )
})

/** Waits until the account holds none any more, nor anybody else any for answers. */
const untilUnused = Effect.fnUntraced(function* (accountId: string) {
  const { answers, exports } = yield* Capacity
  yield* Effect.repeat(
    Effect.sync(() => answers.lacks(accountId, share) ?? exports.lacks(accountId, 2)),
    { until: (lacks) => lacks === undefined, schedule: Schedule.spaced("20 millis") }
  )
})

const times = { turn: 300, silence: 15_000, whole: 40_000 }

layer(serviceLayer().pipe(Layer.provide(Layer.succeed(BodyTimes, times))), { excludeTestServices: true })(
  "Large answers whose account's room is taken",
  (it) => {
    it.effect("are refused to their account, with nothing changed, and to no other", () =>
      Effect.gen(function* () {
        const { accountId, apiKey: key } = yield* fullAccount(1)
        const { apiKey: other } = yield* fullAccount(1)
        const { answers } = yield* Capacity
        const large = "/v1/big?limit=100"
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* answers.count(accountId, share)
            const refused = yield* request("GET", large, { key })
            assert.strictEqual(refused.status, 503)
            assert.include(
              bodyOf<{ detail: string }>(refused).detail,
              "The account has too many large responses in progress"
            )
            assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
            assert.strictEqual((yield* request("GET", "/v1/big?limit=2", { key })).status, 200)
            assert.strictEqual((yield* request("POST", "/v1/big", { key, body: "{}" })).status, 201)
            const change = JSON.stringify({ filter: { kind: "long" }, patch: { n: 1 }, allowMultiple: true })
            assert.strictEqual((yield* request("POST", "/v1/big/update_where", { key, body: change })).status, 503)
            assert.strictEqual((yield* request("GET", large, { key: other })).status, 200)
          })
        )
        assert.notInclude((yield* request("GET", large, { key })).text, '"n":1')
      })
    )

    it.effect("are refused to it at each door to a row's versions, and to no other account", () =>
      Effect.gen(function* () {
        const mine = yield* changedAccount
        const other = yield* changedAccount
        const { answers } = yield* Capacity
        const asked = ({ apiKey, id, token, view }: typeof mine) =>
          Effect.gen(function* () {
            const rest = yield* request("GET", `/v1/big/versions?id=${id}`, { key: apiKey })
            const tool = yield* callTool(token, "versions", { table: "big", id })
            const link = yield* request("GET", `${view}?view=history`)
            return [rest.status, tool.isError ?? false, link.status]
          })
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* answers.count(mine.accountId, share)
            assert.deepStrictEqual(yield* asked(mine), [503, true, 503])
            assert.deepStrictEqual(yield* asked(other), [200, false, 200])
          })
        )
        assert.deepStrictEqual(yield* asked(mine), [200, false, 200])
        assert.strictEqual((yield* restore(mine.view)).status, 303)
        yield* untilUnused(mine.accountId)
      })
    )

    it.effect("give their room back once their readers are gone", () =>
      Effect.gen(function* () {
        const { accountId, apiKey: key } = yield* fullAccount(2)
        const readers = yield* Effect.forEach([1, 2], () => openUnread("/v1/big?limit=200", key))
        yield* untilHeld(accountId)
        for (const reader of readers) reader.destroy()
        yield* untilUnused(accountId)
      })
    )
  }
)

layer(serviceLayer(), { excludeTestServices: true })("Large answers to one account", (it) => {
  it.effect("that are asked for at once are made one after another within its share, and all come whole", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* fullAccount(2)
      const { answers } = yield* Capacity
      let [isHeld, isLeft] = [false, true]
      const watch = Effect.forever(
        Effect.andThen(
          Effect.sync(() => {
            isHeld ||= answers.lacks(accountId, share - 30 * mib) !== undefined
            isLeft &&= answers.lacks("another account", 40 * mib) === undefined
          }),
          Effect.sleep("1 millis")
        )
      )
      const all = Effect.all(
        Array.from({ length: 12 }, () => request("GET", "/v1/big?limit=1000", { key })),
        { concurrency: "unbounded" }
      )
      for (const { status, text } of yield* Effect.raceFirst(all, watch)) {
        assert.strictEqual(status, 200)
        assert.strictEqual(
          bodyOf<{ rows: ReadonlyArray<unknown> }>({ status, text, headers: new Headers() }).rows.length,
          200
        )
      }
      assert.isTrue(isHeld, "room was held")
      assert.isTrue(isLeft, "there was always some for another account")
      yield* untilUnused(accountId)
    })
  )
})

const pace = {
  bytesPerSecond: 100_000,
  body: { grace: 300, most: 300 },
  answer: { grace: 300, most: 300 }
}

layer(serviceLayer().pipe(Layer.provide(Layer.succeed(LeastPace, pace))), { excludeTestServices: true })(
  "A least pace",
  (it) => {
    for (const path of ["/v1/big?limit=300", "/v1/_export"]) {
      it.effect(`breaks off an answer that is not read (${path}), and gives its room back`, () =>
        Effect.gen(function* () {
          const { accountId, apiKey: key } = yield* fullAccount(3)
          const reader = yield* openUnread(path, key)
          yield* untilHeld(accountId)
          yield* untilUnused(accountId)
          const received = yield* untilClosed(reader)
          assert.match(received, /^HTTP\/1\.1 200 /)
          const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
          assert.isAbove(length, 18_000_000)
          assert.isBelow(received.length, length)
        })
      )
    }

    it.effect("breaks off no answer that is read", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* fullAccount(1)
        assert.isAbove((yield* request("GET", "/v1/_export", { key })).text.length, 6_000_000)
      })
    )

    it.effect("ends no large body that waits for room, however long", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const { bodies } = yield* Capacity
        const fields = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", Connection: "close" }
        const body = `{"operations":[{"action":"add","row":{}}]}${" ".repeat(1_000_000)}`
        const length = String(body.length)
        const others = yield* Scope.make()
        yield* Scope.provide(bodies.count("another account", 64 * mib), others)
        const waiting = yield* opened(head("POST", "/v1/t/batch", { ...fields, "Content-Length": length }) + body)
        // One that began later and stops is ended, so that by now this one waits for longer than the pace allows.
        const stopped = yield* opened(head("POST", "/v1/t/batch", { ...fields, "Content-Length": length }) + " ")
        assert.match(yield* untilClosed(stopped), /^HTTP\/1\.1 408 /)
        yield* Scope.close(others, Exit.void)
        assert.match(yield* untilClosed(waiting), /^HTTP\/1\.1 200 /)
      })
    )

    it.effect("ends a large body that stops, with 408, and no small one", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const start = (bytes: number) => {
          const fields = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" }
          return opened(head("POST", "/v1/t/batch", { ...fields, "Content-Length": String(bytes) }) + " ".repeat(100))
        }
        const small = yield* start(1000)
        assert.match(yield* untilClosed(yield* start(1_000_000)), /^HTTP\/1\.1 408 /)
        assert.isFalse(small.closed)
      })
    )
  }
)

layer(serviceLayer(), { excludeTestServices: true })("An export", (it) => {
  it.effect("has a length, by which a client of HTTP/1.0 can tell its end from a break", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const rows = ["{}", '{"é":"日本語 \\u0000 🎉"}', '{"n":1.50,"deep":[{"a":null}]}']
      for (const table of ["one", "two_2", "x"]) {
        for (const body of rows) yield* request("POST", `/v1/${table}`, { key, body })
      }
      const socket = yield* opened(
        `GET /v1/_export HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`
      )
      const received = yield* untilClosed(socket)
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
      const body = received.slice(received.indexOf("\r\n\r\n") + 4)
      assert.strictEqual(body.length, length)
      assert.strictEqual(
        Buffer.from(body, "latin1").toString("utf8"),
        (yield* request("GET", "/v1/_export", { key })).text
      )
      assert.notMatch(received, /transfer-encoding/i)
    })
  )
})
