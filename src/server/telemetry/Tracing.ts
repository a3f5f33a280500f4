import { Effect, Layer, Option, References, Tracer, type Exit } from "effect"
import { FetchHttpClient, HttpMiddleware } from "effect/http"
import { OtlpExporter, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import { Settings } from "../Config.ts"
import { Routes } from "../http/Routes.ts"
import { safeExit, withoutSecrets } from "./Secrets.ts"

// What a caller put into the address or the headers may open something, wherever it stands there: a span has the route.
const isOfCaller = (name: string): boolean => /^url\.|^http\.(?:request|response)\.header\./.test(name)

// The statement's text, which belongs in no trace: the span around it is named after what it does. And where the client
// believes the database to be, which it tells wrongly of one that is named by an address.
const untold = new Set(["db.query.text", "db.namespace", "server.address", "server.port"])

/** The tracer, whose spans carry no secrets, no values and no stacks. */
const guarded = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = tracer.span(options)
      const attribute = span.attribute.bind(span)
      const end = span.end.bind(span)
      return Object.assign(span, {
        attribute: (name: string, value: unknown) => {
          if (isOfCaller(name) || (span.attributes.has("db.system.name") && untold.has(name))) return
          attribute(name, typeof value === "string" ? withoutSecrets(value) : value)
        },
        end: (time: bigint, exit: Exit.Exit<unknown, unknown>) => end(time, safeExit(exit))
      })
    }
  })

const exported = (endpoint: string, version: string) => {
  const options = {
    resource: { serviceName: "agent-memory", serviceVersion: version },
    shutdownTimeout: "2 seconds"
  } as const
  const traces = Layer.effect(
    Tracer.Tracer,
    Effect.map(OtlpTracer.make({ ...options, url: `${endpoint}/v1/traces` }), guarded)
  ).pipe(Layer.provide(OtlpExporter.layerFlusher))
  const names = Layer.effect(
    HttpMiddleware.SpanNameGenerator,
    Effect.map(
      Routes,
      ({ operation }) =>
        ({ method, url }) =>
          operation(method, url)
    )
  ).pipe(Layer.provide(Routes.layer))
  return Layer.mergeAll(traces, names, OtlpMetrics.layer({ ...options, url: `${endpoint}/v1/metrics` })).pipe(
    Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer])
  )
}

/** Sends traces and metrics to `OTEL_EXPORTER_OTLP_ENDPOINT`. Unset, no span is made. */
export const tracingLayer = (version: string) =>
  Layer.unwrap(
    Effect.map(Settings, ({ otlpEndpoint }) =>
      Option.match(otlpEndpoint, {
        onNone: () => Layer.succeed(References.TracerEnabled, false),
        onSome: (endpoint) => exported(endpoint, version)
      })
    )
  )
