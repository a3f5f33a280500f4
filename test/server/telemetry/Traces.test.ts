import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { otlpCollector, Terminal, type Span } from "../../support/Captured.ts"
import { bodyOf, metricsText, newAccount, request, serviceLayer } from "../../support/TestService.ts"

/** Runs the service to its end, when all that it has to tell is sent. */
const withService = <A, E, R, S, F>(layer: Layer.Layer<S, F>, effect: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.flatMap(Layer.build(layer), (context) => Effect.provideContext(effect, context))
  ) as Effect.Effect<A, E | F, Exclude<R, S>>

const attributesOf = (span: Span): Record<string, unknown> =>
  Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const ancestors = (span: Span, spans: ReadonlyArray<Span>): ReadonlyArray<string> => {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return parent === undefined ? [span.name] : [span.name, ...ancestors(parent, spans)]
}

describe("Traces", () => {
  it.live("lead from a request through the services to its statements, under one trace id", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const traceId = "0af7651916cd43dd8448eb211c80319c"
      yield* withService(
        serviceLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, TRUSTED_PROXIES: "127.0.0.1" }),
        Effect.gen(function* () {
          const { apiKey } = yield* newAccount
          const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
          const answer = yield* request("POST", "/v1/plans?x", { key: apiKey, body: '{"secret":"wombat"}', headers })
          assert.strictEqual(answer.status, 400)
          yield* request("POST", "/v1/plans", { key: apiKey, body: '{"secret":"wombat"}', headers })
        })
      )
      const resource = collector.resources()[0]!
      assert.deepInclude(resource.attributes, { key: "service.name", value: { stringValue: "agent-memory" } })
      assert.deepInclude(resource.attributes, { key: "service.version", value: { stringValue: packageJson.version } })
      const spans = collector.spans().filter((span) => span.traceId === traceId)
      const add = spans.find((span) => String(attributesOf(span)["http.response.status_code"]) === "201")!
      assert.strictEqual(add.name, "rows.add")
      assert.deepInclude(attributesOf(add), { "http.request.method": "POST", "http.route": "/v1/:table" })
      const statements = spans.filter((span) => "db.system.name" in attributesOf(span))
      const ways = statements.map((span) => ancestors(span, spans))
      assert.isTrue(ways.some((way) => way.includes("RateLimiter.admit") && way.at(-1) === "rows.add"))
      const ofCommit = ["Commits.grouped", "WriteQueue.executeGroup", "WriteQueue.run", "Writes.write"]
      assert.isTrue(ways.some((way) => ofCommit.every((name) => way.includes(name))))
      for (const way of ways) assert.strictEqual(way.at(-1), "rows.add")
      for (const span of statements) {
        assert.notInclude(JSON.stringify(span), "wombat")
        assert.notMatch(JSON.stringify(span), /SELECT|FROM /)
      }
      const metrics = collector.bodies.filter(({ path }) => path === "/v1/metrics")
      assert.include(metrics.at(-1)?.text, "agent_memory_http_requests_total")
    })
  )

  it.live("are the service's own where no trusted proxy says which trace a request belongs to", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const traceId = "0af7651916cd43dd8448eb211c80319c"
      yield* withService(
        serviceLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, TRUSTED_PROXIES: "192.0.2.1" }),
        Effect.gen(function* () {
          for (const headers of [
            { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
            { traceparent: `00-${traceId}-b7ad6b7169203331-00` },
            { b3: `${traceId}-b7ad6b7169203331-1` },
            { "x-b3-traceid": traceId, "x-b3-spanid": "b7ad6b7169203331", "x-b3-sampled": "0" }
          ]) {
            yield* request("GET", "/health", { headers })
          }
        })
      )
      const spans = collector.spans().filter(({ name }) => name === "GET /health")
      assert.lengthOf(spans, 4)
      for (const span of spans) assert.notStrictEqual(span.traceId, traceId)
    })
  )

  it.live("are linked where writes of several requests are carried out together", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      yield* withService(
        serviceLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }),
        Effect.gen(function* () {
          const { apiKey } = yield* newAccount
          const add = request("POST", "/v1/plans", { key: apiKey, body: "{}" })
          yield* Effect.all(
            Array.from({ length: 30 }, () => add),
            { concurrency: "unbounded" }
          )
        })
      )
      const spans = collector.spans()
      const groups = spans.filter(({ name }) => name === "WriteQueue.executeGroup")
      const runs = spans.filter(({ name }) => name === "WriteQueue.run")
      assert.lengthOf(runs, 30)
      assert.isBelow(groups.length, 30)
      const reached = groups.flatMap((group) => [group.parentSpanId, ...group.links.map(({ spanId }) => spanId)])
      assert.sameMembers(
        reached,
        runs.map(({ spanId }) => spanId)
      )
    })
  )
})

describe("What the service tells about itself", () => {
  it.live("P21 holds no key, token, row, statement with values, or stack", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const secrets: Array<string> = ["wombat"]
      const told = yield* withService(
        serviceLayer({
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
          LOG_LEVEL: "trace",
          LIMIT_READS_PER_MINUTE: "3"
        }).pipe(Layer.provideMerge(Terminal.layer)),
        Effect.gen(function* () {
          const answers: Array<string> = []
          const send = Effect.fnUntraced(function* (...args: Parameters<typeof request>) {
            const answer = yield* request(...args)
            answers.push(answer.text)
            return answer
          })
          // On the tester's own machine this answer shows the link, as it should.
          yield* request("POST", "/auth/magic-link", { body: '{"email":"wombat@example.com"}' })
          const mail = yield* (yield* Outbox).next
          const token = /token=([\w-]+)/.exec(mail.text)![1]!
          secrets.push(token)
          yield* request("GET", `/sign-in?token=${token}`)
          yield* send("GET", `/view/${token}`)
          yield* send("GET", `/download/${token}?token=${token}`)
          const signedIn = yield* request("POST", "/auth/verify", { body: JSON.stringify({ token }) })
          const key = String(bodyOf(signedIn)["api_key"])
          secrets.push(key, key.slice(-20))
          yield* send("POST", "/auth/verify", { body: JSON.stringify({ token }) })
          yield* request("POST", "/v1/plans", { key, body: '{"name":"wombat"}', headers: { cookie: "sid=wombat" } })
          yield* send("POST", "/v1/plans", { key, body: '{"name":' })
          yield* send("POST", "/v1/plans/upsert", { key, body: '{"key":"other","row":{"name":"wombat"}}' })
          for (let count = 0; count < 4; count++) {
            yield* request("GET", `/v1/plans?filter=${encodeURIComponent('{"name":"wombat"}')}`, { key })
          }
          yield* send("GET", "/v1/plans", { key: `${key}x` })
          yield* send("DELETE", `/v1/_keys/${key}`, { key })
          answers.push(yield* metricsText)
          return { answers, lines: (yield* Terminal).lines }
        })
      )
      assert.isAbove(told.lines.length, 10)
      assert.isAbove(collector.spans().length, 30)
      const all = [...told.answers, ...told.lines, ...collector.bodies.map(({ text }) => text)].join("\n")
      for (const secret of secrets) {
        const found = all.indexOf(secret)
        assert.strictEqual(found, -1, all.slice(Math.max(0, found - 200), found + 20))
      }
      assert.notMatch(all, /^\s+at .*\.ts:\d+/m)
      assert.notMatch(all, /SQLSTATE|"(?:23505|42P01|22P02)"/)
      for (const text of [...told.answers, ...told.lines]) assert.notMatch(text, /\b(?:SELECT|INSERT INTO|UPDATE) /)
    })
  )
})
