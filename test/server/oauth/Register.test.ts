import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Clients } from "../../../src/server/oauth/Clients.ts"
import { ClientDocuments } from "../../../src/server/oauth/ClientDocuments.ts"
import { SignInThrottle } from "../../../src/server/accounts/SignInThrottle.ts"
import { Sweeper } from "../../../src/server/retention/Sweeper.ts"
import { Tokens } from "../../../src/server/accounts/Tokens.ts"
import { setClock } from "../../support/Database.ts"
import { secondPool } from "../../support/SignInServices.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { retentionLayer } from "../retention/Sweeping.ts"
import { jsonOf, wire } from "../wire/Wire.ts"
import { admitted, ip, known, minimal, register, registered, type Registered } from "./Registering.ts"

layer(serviceLayer(), { excludeTestServices: true })("Registration", (it) => {
  it.effect("29 echoes what was registered, with a new id and the time", () =>
    Effect.gen(function* () {
      const metadata = {
        redirect_uris: ["http://127.0.0.1:33418", "https://vscode.dev/redirect"],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        client_name: "Visual Studio Code",
        client_uri: "https://code.visualstudio.com",
        logo_uri: "https://code.visualstudio.com/logo.png",
        scope: "agent-memory offline_access",
        contacts: ["ada@example.com"],
        application_type: "native",
        software_id: "b5e9f9d2",
        software_version: "1.2",
        jwks: { keys: [] },
        "client_name#de": "Schlüssel \u0000"
      }
      const answer = yield* register(metadata)
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers["content-type"], "application/json")
      assert.strictEqual(answer.headers["cache-control"], "no-store")
      assert.strictEqual(answer.headers["pragma"], "no-cache")
      const { client_id, client_id_issued_at, ...echo } = jsonOf<Registered>(answer)
      assert.deepStrictEqual(echo, metadata)
      assert.match(client_id, /^[\w-]{43}$/)
      assert.closeTo(client_id_issued_at, Date.now() / 1000, 60)
      assert.isTrue(Number.isInteger(client_id_issued_at))
    })
  )

  it.effect("29 says what holds where nothing was said", () =>
    Effect.gen(function* () {
      const { client_id, client_id_issued_at, client_secret, ...echo } = yield* registered(minimal)
      assert.isAbove(client_id_issued_at, 0)
      assert.match(client_secret!, /^[\w-]{43}$/)
      assert.notStrictEqual(client_secret, client_id)
      assert.deepStrictEqual<unknown>(echo, {
        ...minimal,
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        client_secret_expires_at: 0
      })
    })
  )

  for (const method of [undefined, "client_secret_basic", "client_secret_post"]) {
    it.effect(`29 gives a secret for the method ${method ?? "that is not said"}`, () =>
      Effect.gen(function* () {
        const body = { ...minimal, ...(method === undefined ? {} : { token_endpoint_auth_method: method }) }
        const { client_id, client_secret, ...rest } = yield* registered(body)
        assert.strictEqual(rest["client_secret_expires_at"], 0)
        assert.strictEqual(rest["token_endpoint_auth_method"], method ?? "client_secret_basic")
        assert.isTrue(yield* admitted(client_id, client_secret))
        for (const wrong of [undefined, "", "x", client_id, `${client_secret}x`]) {
          assert.isFalse(yield* admitted(client_id, wrong), String(wrong))
        }
        const other = yield* registered(body)
        assert.isFalse(yield* admitted(other.client_id, client_secret))
      })
    )
  }

  it.effect("29 gives a public client no secret, and takes none from it", () =>
    Effect.gen(function* () {
      const answer = yield* registered({ ...minimal, token_endpoint_auth_method: "none" })
      assert.doesNotHaveAnyKeys(answer, ["client_secret", "client_secret_expires_at"])
      assert.isTrue(yield* admitted(answer.client_id, undefined))
      assert.isTrue(yield* admitted(answer.client_id, ""))
      assert.isFalse(yield* admitted(answer.client_id, "secret"))
    })
  )

  it.effect("34 knows no client that never registered", () =>
    Effect.gen(function* () {
      for (const id of ["", "unknown", "a".repeat(43), "\u0000", "\ud800", "x".repeat(100_000), "' OR ''='"]) {
        assert.isFalse(yield* known(id))
        assert.isFalse(yield* admitted(id, undefined))
      }
    })
  )

  it.effect("29 keeps ids, names and redirect URIs as they were registered", () =>
    Effect.gen(function* () {
      const clients = yield* Clients
      const redirectUris = ["HTTPS://C.TEST/cb?a=%20", "cursor://anysphere.cursor-mcp/oauth/callback"]
      const { client_id } = yield* registered({ redirect_uris: redirectUris, client_name: "Cursor" })
      assert.deepStrictEqual(yield* clients.find(client_id, ip), {
        id: client_id,
        name: "Cursor",
        redirectUris,
        isDocument: false
      })
    })
  )

  it.effect("32 shows names without what hides or reorders text", () =>
    Effect.gen(function* () {
      const clients = yield* Clients
      const shown = Effect.fnUntraced(function* (client_name: unknown, uri = "https://c.test:8443/cb") {
        const { client_id, ...echo } = yield* registered({ redirect_uris: [uri], client_name })
        assert.strictEqual(echo["client_name"], client_name ?? undefined)
        return (yield* clients.find(client_id, ip)).name
      })
      assert.strictEqual(yield* shown("  Claude\r\n\tCode "), "Claude Code")
      assert.strictEqual(yield* shown("Good\u202egnp\u2066\u200b\ufeff\u0007"), "Goodgnp")
      assert.strictEqual(yield* shown("<b>&amp;"), "<b>&amp;")
      assert.strictEqual(yield* shown("👩‍💻 é"), "👩‍💻 é")
      assert.strictEqual(yield* shown("a".repeat(201)), `${"a".repeat(200)}…`)
      for (const nameless of [null, "", " ", "\u200b\u200d"]) {
        assert.strictEqual(yield* shown(nameless), "c.test:8443")
      }
      assert.strictEqual(yield* shown(null, "http://localhost:1/cb"), "localhost:1")
      assert.strictEqual(yield* shown(null, "cursor://anysphere.cursor-mcp/cb"), "anysphere.cursor-mcp")
      assert.strictEqual(yield* shown(null, "com.example.app:/cb"), "com.example.app")
    })
  )

  it.effect("29 takes 20 redirect URIs of every kind that may be registered", () =>
    Effect.gen(function* () {
      const redirect_uris = [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "http://localhost:8787/callback",
        "http://[::1]/callback",
        ...Array.from({ length: 17 }, (_, index) => `https://c.test/${index}`)
      ]
      assert.deepStrictEqual((yield* registered({ redirect_uris }))["redirect_uris"], redirect_uris)
    })
  )

  it.effect("29 echoes of grants and responses those that hold, and issues its own members alone", () =>
    Effect.gen(function* () {
      const answer = yield* registered({
        ...minimal,
        grant_types: ["implicit", "authorization_code"],
        response_types: ["code", "token"],
        scope: null,
        client_id: "mine",
        client_secret: "mine",
        client_id_issued_at: 1,
        client_secret_expires_at: 1,
        registration_access_token: "mine",
        registration_client_uri: "https://c.test/mine"
      })
      assert.deepStrictEqual(answer["grant_types"], ["authorization_code"])
      assert.deepStrictEqual(answer["response_types"], ["code"])
      assert.notInclude(JSON.stringify(answer), "mine")
      assert.isAbove(answer.client_id_issued_at, 1)
      assert.doesNotHaveAnyKeys(answer, ["scope"])
    })
  )

  it.effect("37 keeps a secret as its hash, and nowhere else", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { client_id, client_secret } = yield* registered(minimal)
      const rows = yield* sql<{ row: string; hash: Uint8Array }>`
        SELECT c::text AS row, secret_hash AS hash FROM oauth_clients c WHERE client_id = ${client_id}
      `
      assert.lengthOf(rows, 1)
      assert.notInclude(rows[0]!.row, client_secret!)
      assert.deepStrictEqual(
        Buffer.from(rows[0]!.hash),
        Buffer.from(
          yield* Effect.flatMap(Tokens, (tokens) => tokens.hash(client_secret!)).pipe(Effect.provide(Tokens.layer))
        )
      )
    })
  )

  it.effect("29 is known to another instance, and so after a restart", () =>
    Effect.gen(function* () {
      const { client_id, client_secret } = yield* registered({ ...minimal, client_name: "Kept" })
      const pool = yield* secondPool
      const other = Layer.fresh(Layer.effect(Clients, Clients.make)).pipe(
        Layer.provide([Layer.fresh(ClientDocuments.layer), Layer.fresh(SignInThrottle.layer), Tokens.layer]),
        Layer.provide(pool)
      )
      yield* Effect.gen(function* () {
        const clients = yield* Clients
        assert.strictEqual((yield* clients.find(client_id, ip)).name, "Kept")
        yield* clients.authenticate({ clientId: client_id, secret: client_secret })
      }).pipe(Effect.provide(other, { local: true }))
    })
  )

  it.effect("29 answers other methods with those that are allowed", () =>
    Effect.gen(function* () {
      const answer = yield* wire("GET", "/register")
      assert.strictEqual(answer.status, 405)
      assert.strictEqual(answer.headers["allow"], "POST, OPTIONS")
    })
  )
})

layer(retentionLayer(), { excludeTestServices: true })("Registrations", (it) => {
  it.effect("29 expire after a week without use, and 91 days after the last one", () =>
    Effect.gen(function* () {
      const clients = yield* Clients
      const sweeper = yield* Sweeper
      const sql = yield* SqlClient.SqlClient
      const removed = Effect.map(sweeper.sweep, ({ removed }) => removed.oauth_clients)
      const unused = yield* clients.register(minimal, ip)
      const used = yield* clients.register(minimal, ip)
      yield* setClock("6 days 23 hours")
      assert.isTrue(yield* known(unused.client_id))
      yield* clients.keep(used.client_id)
      yield* clients.keep("https://c.test/client")
      assert.strictEqual(yield* removed, 0)
      yield* setClock("7 days 1 second")
      assert.isFalse(yield* known(unused.client_id))
      assert.isFalse(yield* admitted(unused.client_id, unused.client_secret))
      assert.isTrue(yield* admitted(used.client_id, used.client_secret))
      assert.strictEqual(yield* removed, 1)
      yield* setClock("90 days")
      yield* clients.keep(used.client_id)
      yield* setClock("180 days 23 hours")
      assert.isTrue(yield* known(used.client_id))
      yield* setClock("181 days 1 second")
      assert.isFalse(yield* known(used.client_id))
      assert.strictEqual(yield* removed, 1)
      assert.lengthOf(yield* sql`SELECT FROM oauth_clients`, 0)
    })
  )

  it.effect("29 outlive a sweep that comes while they are used", () =>
    Effect.gen(function* () {
      const clients = yield* Clients
      const sweeper = yield* Sweeper
      const sql = yield* SqlClient.SqlClient
      yield* setClock("0 days")
      const { client_id } = yield* clients.register(minimal, ip)
      yield* setClock("7 days 1 second")
      const isKept = yield* Deferred.make<void>()
      const isOver = yield* Deferred.make<void>()
      const user = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* clients.keep(client_id)
            yield* Deferred.succeed(isKept, undefined)
            yield* Deferred.await(isOver)
          })
        )
        .pipe(Effect.forkChild)
      yield* Deferred.await(isKept)
      const sweep = yield* Effect.forkChild(sweeper.sweep)
      const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
      yield* Deferred.succeed(isOver, undefined)
      yield* Fiber.join(user)
      assert.strictEqual((yield* Fiber.join(sweep)).removed.oauth_clients, 0)
      assert.isTrue(yield* known(client_id))
    })
  )
})
