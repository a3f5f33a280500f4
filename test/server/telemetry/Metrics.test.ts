import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { readFileSync } from "node:fs"
import packageJson from "../../../package.json" with { type: "json" }
import * as Metrics from "../../../src/server/telemetry/Metrics.ts"
import { localHeaders, localSecret, metricsText, newAccount, request, serviceLayer } from "../../support/TestService.ts"

/** The service with metrics of its own. */
const service = (variables: Record<string, string> = {}) =>
  serviceLayer(variables).pipe(Layer.provideMerge(Layer.sync(Metric.MetricRegistry, () => new Map())))

const publicService = {
  BASE_URL: "https://memory.example.com",
  MAIL_TO_STDOUT: "true"
}

const valueOf = (text: string, series: string): number => {
  const line = text.split("\n").find((line) => line.startsWith(`${series} `))
  return line === undefined ? 0 : Number(line.slice(series.length + 1))
}

describe("GET /metrics", () => {
  it.layer(service())("on a service for this machine alone", (it) => {
    it.effect("is open to whoever has the local secret, in Prometheus' text format", () =>
      Effect.gen(function* () {
        const headers = yield* localHeaders
        const answer = yield* request("GET", "/metrics", { headers })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
        assert.match(answer.text, /^# HELP agent_memory_build_info .+\n# TYPE agent_memory_build_info gauge$/m)
        assert.include(answer.text, `\nagent_memory_build_info{version="${packageJson.version}"} 1\n`)
        assert.strictEqual((yield* request("HEAD", "/metrics", { headers })).status, 200)
        assert.strictEqual((yield* request("POST", "/metrics", { headers })).status, 405)
      })
    )

    it.effect("is closed to everybody else, who may come by a proxy that looks like this machine", () =>
      Effect.gen(function* () {
        const secret = yield* localSecret
        const strangers: ReadonlyArray<Record<string, string>> = [
          {},
          { "x-local-secret": secret.slice(0, -1) },
          { "x-local-secret": secret, "x-forwarded-for": "203.0.113.7" },
          { authorization: `Bearer ${secret}` }
        ]
        for (const headers of strangers) {
          const answer = yield* request("GET", "/metrics", { headers })
          assert.strictEqual(answer.status, 401, JSON.stringify(headers))
          assert.notInclude(answer.text, "agent_memory_")
        }
      })
    )

    it.effect("counts requests, verdicts, statements, groups of writes and sweeps", () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        const before = yield* metricsText
        const add = request("POST", "/v1/plans", { key: apiKey, body: "{}" })
        yield* Effect.all(
          Array.from({ length: 20 }, () => add),
          { concurrency: "unbounded" }
        )
        yield* request("GET", "/v1/plans", { key: apiKey })
        yield* request("GET", "/v1/plans")
        yield* Metrics.swept("versions", 7)
        const after = yield* metricsText
        const moved = (series: string) => valueOf(after, series) - valueOf(before, series)
        const added = '{operation="rows.add",status="201"}'
        assert.strictEqual(moved(`agent_memory_http_requests_total${added}`), 20)
        assert.strictEqual(moved(`agent_memory_http_request_duration_seconds_count${added}`), 20)
        assert.isAbove(moved(`agent_memory_http_request_duration_seconds_sum${added}`), 0)
        assert.strictEqual(moved('agent_memory_http_requests_total{operation="rows.query",status="401"}'), 1)
        assert.strictEqual(moved('agent_memory_rate_limit_verdicts_total{class="write",verdict="admitted"}'), 20)
        assert.strictEqual(moved('agent_memory_rate_limit_verdicts_total{class="read",verdict="admitted"}'), 1)
        assert.strictEqual(moved("agent_memory_write_group_size_sum"), 20)
        assert.strictEqual(moved("agent_memory_write_commits_total"), moved("agent_memory_write_group_size_count"))
        assert.isAtLeast(
          moved("agent_memory_database_operation_duration_seconds_count"),
          moved("agent_memory_write_commits_total") + 2
        )
        assert.strictEqual(moved('agent_memory_swept_rows_total{kind="versions"}'), 7)
        assert.strictEqual(moved('agent_memory_sweep_batches_total{kind="versions"}'), 1)
        assert.strictEqual(valueOf(after, "agent_memory_http_requests_in_flight"), 1)
        assert.strictEqual(valueOf(after, "agent_memory_database_operations_in_flight"), 0)
        assert.strictEqual(valueOf(after, "agent_memory_write_queue_length"), 0)
        assert.isAbove(valueOf(after, "agent_memory_process_resident_memory_bytes"), 10_000_000)
        assert.isAbove(valueOf(after, "agent_memory_process_cpu_seconds_total"), 0)
      })
    )

    it.effect("has no label that tells tables or accounts, and no name that the dashboard does not know", () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        for (const table of ["wombats", "wallabies"]) {
          yield* request("POST", `/v1/${table}`, { key: apiKey, body: "{}" })
          yield* request("GET", `/v1/${table}/${table}`, { key: apiKey })
        }
        // How late timers are is told once the first has fired.
        const text = yield* Effect.repeat(metricsText, { until: (text) => text.includes("event_loop_lag") })
        assert.notMatch(text, /wombat|wallab/)
        const labels = [...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name!)
        assert.includeMembers(["operation", "status", "class", "verdict", "le", "version", "kind", "reason"], labels)
        const dashboard = readFileSync(new URL("../../../src/server/telemetry/dashboard.json", import.meta.url), "utf8")
        const names = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!)
        for (const name of names) assert.include(dashboard, name)
        const shown = [...dashboard.matchAll(/agent_memory_\w+/g)].map(([name]) => name.replace(/_bucket$/, ""))
        const known = new Set([
          ...names,
          "agent_memory_database_connections_max",
          "agent_memory_database_failures_total"
        ])
        for (const name of shown) assert.isTrue(known.has(name.replace(/_(?:sum|count)$/, "")) || known.has(name), name)
      })
    )
  })

  it.layer(service({ ...publicService, METRICS_TOKEN: "correct-horse" }))("with a token", (it) => {
    it.effect("is for whoever shows it", () =>
      Effect.gen(function* () {
        const show = (authorization: string) => request("GET", "/metrics", { headers: { authorization } })
        assert.strictEqual((yield* show("Bearer correct-horse")).status, 200)
        for (const wrong of ["Bearer correct-hors", "Bearer correct-horse2", "correct-horse", "Basic correct-horse"]) {
          const answer = yield* show(wrong)
          assert.strictEqual(answer.status, 401, wrong)
          assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
        }
        assert.strictEqual((yield* request("GET", "/metrics")).status, 401)
      })
    )
  })

  it.layer(service({ METRICS_TOKEN: "correct-horse" }))("with a token on this machine", (it) => {
    it.effect("is for whoever shows it, and the local secret opens nothing", () =>
      Effect.gen(function* () {
        const headers = yield* localHeaders
        assert.strictEqual((yield* request("GET", "/metrics", { headers })).status, 401)
        const authorization = "Bearer correct-horse"
        assert.strictEqual((yield* request("GET", "/metrics", { headers: { authorization } })).status, 200)
      })
    )
  })

  const others = {
    "a public service": publicService,
    "a service for this machine that sends real mail": { SMTP_URL: "smtp://127.0.0.1:9" }
  }
  for (const [what, variables] of Object.entries(others)) {
    it.layer(service(variables))(`on ${what} without a token`, (it) => {
      it.effect("does not exist", () =>
        Effect.gen(function* () {
          const answer = yield* request("GET", "/metrics", { headers: { authorization: "Bearer x" } })
          assert.strictEqual(answer.status, 404)
          assert.strictEqual(JSON.parse(answer.text).code, "not_found")
        })
      )
    })
  }
})
