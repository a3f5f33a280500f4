import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { Grants } from "../../../src/server/oauth/Grants.ts"
import { callMcp, connect, newClient, newPerson } from "../../support/OAuth.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { known, minimal, registered } from "./Registering.ts"

layer(serviceLayer(), { excludeTestServices: true })("What is kept of clients", (it) => {
  it.effect("29 is at most 10,000 registrations that were never used: the oldest unused goes first", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [person, used] = [yield* newPerson, yield* newClient()]
      yield* connect(person, used)
      const oldest = yield* registered(minimal)
      const next = yield* registered(minimal)
      yield* sql`
        INSERT INTO oauth_clients (client_id, metadata, expires_at)
        SELECT 'made ' || n, '{}', memory_now() + interval '7 days' + n * interval '1 millisecond'
        FROM generate_series(1, 9998) AS n
      `
      const count = Effect.map(
        sql<{ n: number }>`SELECT count(*)::integer AS n FROM oauth_clients WHERE NOT is_used`,
        ([row]) => row!.n
      )
      assert.strictEqual(yield* count, 10_000)
      yield* sql`UPDATE oauth_clients SET expires_at = expires_at + interval '1 day' WHERE client_id LIKE 'made %'`
      yield* sql`
        UPDATE oauth_clients SET expires_at = expires_at - interval '1 hour' WHERE client_id = ${oldest.client_id}
      `
      yield* registered(minimal)
      assert.strictEqual(yield* count, 10_000)
      assert.isFalse(yield* known(oldest.client_id))
      assert.isTrue(yield* known(next.client_id))
      assert.isTrue(yield* known(used.client_id))
    })
  )

  it.effect("38 is at most 100 connections of an account: those used the longest ago end, however young they are", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { accountId } = person
      const [old, young] = [yield* connect(person, client), yield* connect(person, client)]
      yield* sql`
        UPDATE connections SET created_at = created_at - interval '1 day' WHERE account_id = ${accountId}
      `
      yield* sql`
        INSERT INTO connections
          (account_id, connection_id, client_id, client_name, resource, scope, access, created_at, last_used_at, expires_at)
        SELECT ${accountId}, 'made ' || n, 'c', 'c', 'r', 's', 'full', memory_now() - interval '5 days',
          memory_now() - interval '1 minute', memory_now() + interval '1 day'
        FROM generate_series(1, 98) AS n
      `
      // The one that was made first is in use; the other one was never used.
      assert.strictEqual((yield* callMcp(old.access_token)).status, 200)
      const newest = yield* connect(person, client)
      assert.strictEqual((yield* callMcp(old.access_token)).status, 200)
      assert.strictEqual((yield* callMcp(young.access_token)).status, 401)
      assert.strictEqual((yield* callMcp(newest.access_token)).status, 200)
      const left = yield* sql`
        SELECT FROM connections WHERE account_id = ${accountId} AND expires_at > memory_now()
      `
      assert.lengthOf(left, 100)
    })
  )

  it.effect("38 counts no connection that has ended, however lately it was used", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [person, client] = [yield* newPerson, yield* newClient()]
      const kept = yield* connect(person, client)
      yield* sql`
        INSERT INTO connections
          (account_id, connection_id, client_id, client_name, resource, scope, access, created_at, last_used_at, expires_at)
        SELECT ${person.accountId}, 'ended ' || n, 'c', 'c', 'r', 's', 'full', memory_now(), memory_now(), memory_now()
        FROM generate_series(1, 100) AS n
      `
      yield* connect(person, client)
      assert.strictEqual((yield* callMcp(kept.access_token)).status, 200)
    })
  )

  it.effect("35 is a connection that is refreshed at the moment when it would be removed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const connections = yield* Grants
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { access_token } = yield* connect(person, client)
      const moveEnd = (end: string) => sql`
        UPDATE connections SET expires_at = memory_now() + ${end}::interval WHERE account_id = ${person.accountId}
      `
      yield* moveEnd("0 days")
      const [isMoved, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const refreshing = yield* moveEnd("90 days").pipe(
        Effect.andThen(Deferred.succeed(isMoved, undefined)),
        Effect.andThen(Deferred.await(mayEnd)),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* Deferred.await(isMoved)
      const removing = yield* Effect.forkScoped(connections.prune(1000), { startImmediately: true })
      const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(refreshing)
      yield* Fiber.join(removing)
      assert.strictEqual((yield* callMcp(access_token)).status, 200)
    })
  )
})
