import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Metric, Schedule } from "effect"
import { newConnection } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { bodyOf, metricsText, request, serviceLayer } from "../../support/TestService.ts"
import type { Failed } from "./Messages.ts"

const limited = { LIMIT_MCP_REQUESTS_PER_IP_PER_MINUTE: "20", TRUSTED_PROXIES: "127.0.0.1" }

/** A message from an address of the documentation's network. */
const from = (host: number, token?: string, headers: Record<string, string> = {}) =>
  callMcp(token, { headers: { "x-forwarded-for": `203.0.113.${host}`, ...headers } })

const flood = (host: number, token?: string) =>
  Effect.forEach(Array.from({ length: 20 }), () => from(host, token), { concurrency: 5 })

layer(serviceLayer(limited).pipe(Layer.provideMerge(Layer.sync(Metric.MetricRegistry, () => new Map()))), {
  excludeTestServices: true
})("Floods", (it) => {
  it.effect(
    "44 of an address are refused with the time to wait, before a token is looked up, and others are served",
    () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        for (const answer of yield* flood(1)) assert.strictEqual(answer.status, 401)
        for (const shown of [undefined, "svc_access_unknown", token]) {
          const answer = yield* from(1, shown)
          assert.strictEqual(answer.status, 429)
          const seconds = Number(answer.headers.get("retry-after"))
          assert.isAtLeast(seconds, 1)
          assert.isAtMost(seconds, 3)
          const { error } = bodyOf<Failed>(answer)
          assert.strictEqual(error.code, 429)
          assert.include(error.message, `Try again in ${seconds} seconds`)
          assert.isNull(answer.headers.get("www-authenticate"))
          assert.include(answer.headers.get("access-control-expose-headers") ?? "", "Retry-After")
        }
        assert.strictEqual((yield* from(2, token)).status, 200)
        assert.strictEqual(
          (yield* request("GET", "/v1/t/count", { headers: { "x-forwarded-for": "203.0.113.1" } })).status,
          401
        )
        const text = yield* metricsText
        assert.match(text, /rate_limit_verdicts_total\{class="flood",verdict="admitted"\} 21$/m)
        assert.match(text, /rate_limit_verdicts_total\{class="flood",verdict="limited"\} 3$/m)
      })
  )

  it.effect("44 end by themselves, and what they are refused costs nothing", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const answer of yield* flood(3, token)) assert.strictEqual(answer.status, 200)
      const answers = yield* Effect.repeat(from(3, token), {
        until: ({ status }) => status === 200,
        schedule: Schedule.spaced("100 millis")
      })
      assert.strictEqual(answers.status, 200)
    })
  )

  it.effect("44 are no matter of preflights, nor of pages of foreign origins", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (let n = 0; n < 25; n++) {
        assert.strictEqual((yield* from(4, token, { origin: "https://evil.example" })).status, 403)
        const headers = { "x-forwarded-for": "203.0.113.4", origin: "https://claude.ai" }
        assert.strictEqual((yield* request("OPTIONS", "/mcp", { headers })).status, 204)
      }
      assert.strictEqual((yield* from(4, token)).status, 200)
    })
  )
})
