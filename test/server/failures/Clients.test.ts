import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { Socket } from "node:net"
import { within } from "../../support/OwnTime.ts"
import { opened } from "../../support/RawConnections.ts"
import { bodyOf, metricsText, newAccount, request, serviceLayer } from "../../support/TestService.ts"

/** What the service sends on a connection until it ends it, or until it has sent a whole head. */
const received = (socket: Socket) =>
  Effect.callback<string>((resume) => {
    let text = ""
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1")
      if (text.includes("\r\n\r\n")) resume(Effect.succeed(text))
    })
    socket.on("close", () => resume(Effect.succeed(text)))
  })

const count = (key: string, table: string) =>
  Effect.map(request("GET", `/v1/${table}/count`, { key }), (answer) => bodyOf<{ count: number }>(answer).count)

/**
 * Waits until no request is being answered, but for the one that asks, no write waits, and no connection of the service
 * is in a transaction: what vanished clients began is over, and has left nothing open.
 */
const settled = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const isIdle = Effect.gen(function* () {
    const text = yield* metricsText
    const lines = ["http_requests_in_flight 1", "write_queue_length 0", "database_operations_in_flight 0"]
    if (!lines.every((line) => text.includes(`\nagent_memory_${line}\n`))) return false
    const open = yield* sql`
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        AND xact_start IS NOT NULL
    `
    return open.length === 0
  })
  yield* Effect.repeat(isIdle, { until: (is) => is })
})

const batchOf = (rows: number) =>
  JSON.stringify({
    operations: Array.from({ length: rows }, (_, n) => ({ action: "add", row: { n, pad: "x".repeat(1000) } }))
  })

layer(serviceLayer(), { excludeTestServices: true })("A service with slow and abusive clients", (it) => {
  it.effect("P23 serves others while 200 connections idle and 50 send their heads a byte at a time", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* Effect.forEach(Array.from({ length: 200 }), () => opened(""), { concurrency: 50 })
      yield* Effect.forEach(Array.from({ length: 50 }), () => opened("GET /v1/t HTTP/1.1\r\nHost: localhost\r\nX"), {
        concurrency: 50
      })
      const answer = yield* request("POST", "/v1/t", { key, body: "{}" }).pipe(within(2000))
      assert.strictEqual(answer.status, 201)
    })
  )

  it.effect("P23 refuses a large body from its Content-Length alone, without a key as unauthenticated", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const head = (key: string) =>
        `POST /v1/t HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 10485760\r\n\r\n{"
      const stranger = yield* received(yield* opened(head("svc_live_nobody")))
      assert.match(stranger, /^HTTP\/1\.1 401 /)
      const known = yield* received(yield* opened(head(apiKey)))
      assert.match(known, /^HTTP\/1\.1 413 /)
    })
  )

  it.effect("P13 stores nothing of a batch whose sender vanishes in mid-body, and goes on", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const body = batchOf(100)
      const head = `POST /v1/cut/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
      yield* Effect.forEach(
        Array.from({ length: 30 }),
        () =>
          Effect.scoped(
            Effect.map(opened(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -10)}`), (socket) =>
              socket.resetAndDestroy()
            )
          ),
        { concurrency: 10 }
      )
      assert.strictEqual(yield* count(key, "cut"), 0)
      assert.strictEqual((yield* request("POST", "/v1/cut", { key, body: "{}" })).status, 201)
    })
  )

  it.effect("P13 stores a batch wholly or not at all when its sender vanishes before the answer", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const body = batchOf(10)
      const head = `POST /v1/whole/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
      yield* Effect.forEach(
        Array.from({ length: 40 }),
        () =>
          Effect.scoped(
            Effect.map(opened(`${head}Content-Length: ${body.length}\r\n\r\n${body}`), (socket) =>
              socket.resetAndDestroy()
            )
          ),
        { concurrency: 10 }
      )
      yield* settled
      const rows = yield* count(key, "whole")
      assert.strictEqual(rows % 10, 0)
    })
  )

  it.effect("lets exports that nobody reads neither hold all connections nor stop writes", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const row = JSON.stringify({ text: "x".repeat(60_000) })
      yield* Effect.forEach(
        Array.from({ length: 200 }),
        () =>
          Effect.repeat(request("POST", "/v1/big", { key, body: row }), { until: (answer) => answer.status === 201 }),
        { concurrency: 16 }
      )
      const readers = yield* Effect.forEach(Array.from({ length: 30 }), () =>
        opened(`GET /v1/_export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`)
      )
      for (const reader of readers) reader.pause()
      const answer = yield* request("POST", "/v1/t", { key, body: "{}" }).pipe(within(3000))
      assert.strictEqual(answer.status, 201)
      yield* Effect.forEach(readers, (reader) => Effect.sync(() => reader.destroy()))
      const exported = yield* Effect.repeat(request("GET", "/v1/_export", { key }), {
        until: ({ status }) => status === 200,
        schedule: Schedule.spaced("50 millis")
      })
      assert.isAbove(exported.text.length, 12_000_000)
    })
  )
})
