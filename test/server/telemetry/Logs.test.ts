import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { HttpServerError } from "effect/http"
import { safeErrors } from "../../../src/server/telemetry/Logging.ts"
import { Terminal } from "../../support/Captured.ts"
import { newAccount, request, serviceLayer } from "../../support/TestService.ts"

const takeLines = Effect.map(Terminal, ({ lines }) =>
  lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>)
)

const takeRequestLines = Effect.map(takeLines, (lines) => lines.filter((line) => "operation" in line))

layer(serviceLayer({ LOG_LEVEL: "info", LOG_FORMAT: "json" }).pipe(Layer.provideMerge(Terminal.layer)))(
  "The log",
  (it) => {
    it.effect("has one line for a request, with its id, operation, status, duration, account and key", () =>
      Effect.gen(function* () {
        const { accountId, apiKey } = yield* newAccount
        yield* takeLines
        const { headers } = yield* request("POST", "/v1/plans", { key: apiKey, body: '{"secret":"wombat"}' })
        const [line, ...rest] = yield* takeRequestLines
        assert.isEmpty(rest)
        const { duration_ms, key_id, timestamp, ...plain } = line!
        assert.deepStrictEqual(plain, {
          level: "info",
          message: "rows.add 201",
          request_id: headers.get("x-request-id"),
          method: "POST",
          operation: "rows.add",
          status: 201,
          account_id: accountId
        })
        assert.isAbove(Number(duration_ms), 0)
        assert.match(String(key_id), /^[0-9a-f-]{36}$/)
        assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      })
    )

    it.effect("names a refusal by its code, and nobody where nobody was authenticated", () =>
      Effect.gen(function* () {
        yield* takeLines
        yield* request("GET", "/v1/plans", { key: "svc_live_wrong" })
        const [line] = yield* takeRequestLines
        assert.deepInclude(line, { level: "info", operation: "rows.query", status: 401, code: "unauthenticated" })
        assert.notProperty(line, "account_id")
      })
    )

    it.effect(
      "has the pattern of the path, never the path itself, and no line for assets, the icon and health checks",
      () =>
        Effect.gen(function* () {
          yield* takeLines
          yield* request("GET", "/sign-in?token=wombat-token")
          yield* request("GET", "/health")
          yield* request("GET", "/favicon.ico")
          yield* request("GET", "/assets/wombat.js")
          yield* request("HEAD", "/robots.txt")
          yield* request("PUT", "/v1/wombat-table")
          yield* request("GET", "/wombat-path/wombat-name?x=wombat-query")
          yield* request("OPTIONS", "/v1/wombat-table")
          yield* request("GET", "/openapi.json")
          const lines = yield* takeRequestLines
          assert.deepStrictEqual(
            lines.map(({ operation }) => operation),
            ["GET /sign-in", "GET /robots.txt", "/v1/:table", "unmatched", "OPTIONS", "GET /openapi.json"]
          )
          assert.notInclude(JSON.stringify(lines), "wombat")
        })
    )

    it.effect("has the cause of a 500 at level error, without the statement and its values", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { apiKey } = yield* newAccount
        yield* sql`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          RAISE EXCEPTION 'refused %', to_jsonb(NEW) USING DETAIL = to_jsonb(NEW)::text, CONSTRAINT = 'wombats_only';
        END $$
      `
        yield* sql`CREATE TRIGGER refuse BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION refuse()`
        yield* takeLines
        const answer = yield* request("POST", "/v1/plans", { key: apiKey, body: '{"secret":"wombat-value"}' })
        yield* sql`DROP TRIGGER refuse ON rows`
        assert.strictEqual(answer.status, 500)
        const [line, ...rest] = yield* takeRequestLines
        assert.isEmpty(rest)
        const { errors, ...plain } = line!
        assert.deepInclude(plain, { level: "error", operation: "rows.add", status: 500, code: "internal_error" })
        const text = JSON.stringify(errors)
        assert.include(text, "SqlError: UnknownError (constraint wombats_only")
        assert.include(text, "    at ")
        for (const secret of ["wombat-value", "refused", "INSERT", "P0001"]) {
          assert.notInclude(text, secret)
          assert.notInclude(answer.text, secret)
        }
        assert.notInclude(answer.text, "    at ")
      })
    )
  }
)

describe("A cause that is written down", () => {
  it("says nothing of keys, tokens and parsed text", () => {
    const errors = safeErrors(
      Cause.fromReasons<unknown>([
        Cause.makeDieReason(new SyntaxError("Unexpected token in wombat")),
        Cause.makeDieReason(
          new Error("at svc_live_wombat, /sign-in?token=wombat, /view/wombat, Authorization: Bearer wombat")
        ),
        Cause.makeFailReason(
          new HttpServerError.HttpServerError({
            reason: new HttpServerError.RouteNotFound({ request: { url: "/view/wombat" } as never })
          })
        ),
        Cause.makeFailReason("wombat")
      ])
    )
    assert.lengthOf(errors, 4)
    for (const error of errors) assert.notInclude(`${error.message} ${error.stack ?? ""}`, "wombat")
  })
})
