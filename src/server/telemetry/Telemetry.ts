import { Context, Effect, Exit, References, Tracer, Layer, Option } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import { LoggingLayer, safeExit, withoutSecrets } from "./Logging.ts"
import * as Metrics from "./Metrics.ts"
import { FetchHttpClient } from "effect/http"
import { OtlpExporter, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import { Settings } from "../config/Settings.ts"

type Any = Effect.Effect<unknown, unknown, unknown>
type Body = (...args: ReadonlyArray<unknown>) => Any | Generator<Any, unknown, never>
type Step = (effect: Any, ...args: ReadonlyArray<unknown>) => Any

const inSpan = (name: string, effect: Any): Any =>
  Effect.withFiber((fiber) =>
    fiber.getRef(References.TracerEnabled) ? Effect.withSpan(effect, name, { captureStackTrace: false }) : effect
  )

/**
 * Like `Effect.fn`, makes functions whose calls are spans of this name. Without tracing a call costs little more than its
 * effect, whereas `Effect.fn` always captures the caller's stack.
 */
export const traced = (name: string): Effect.fn.Traced => {
  const make =
    (body: Body, ...steps: ReadonlyArray<Step>) =>
    (...args: ReadonlyArray<unknown>) => {
      const work = Effect.suspend((): Any => {
        const made = body(...args)
        return "next" in made ? Effect.gen(() => made) : made
      })
      return inSpan(
        name,
        steps.reduce((effect, step) => step(effect, ...args), work)
      )
    }
  return make as unknown as Effect.fn.Traced
}

/** Links the current span to the spans of other callers, for work that is done for all of them together. */
export const linkCurrentSpan = (others: ReadonlyArray<Context.Context<never>>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const span = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
    if (span?._tag === "Span" && others.length > 0) {
      span.addLinks(
        others.flatMap((context) => {
          const other = Context.getOrUndefined(context, Tracer.ParentSpan)
          return other === undefined ? [] : [{ span: other, attributes: {} }]
        })
      )
    }
    return Exit.void
  })

// The URL and headers of a request may contain secrets anywhere. Spans have the route instead.
const isOfCaller = (name: string): boolean => /^url\.|^http\.(?:request|response)\.header\./.test(name)

// The text of statements does not belong in traces; the span around it is named after what it does. The client reports a wrong
// location for a database that is configured by URL.
const omitted = new Set(["db.query.text", "db.namespace", "server.address", "server.port"])

/** Wraps a tracer so that spans have no secrets, values or stacks. */
const guarded = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = tracer.span(options)
      const attribute = span.attribute.bind(span)
      const end = span.end.bind(span)
      return Object.assign(span, {
        attribute: (name: string, value: unknown) => {
          if (isOfCaller(name) || (span.attributes.has("db.system.name") && omitted.has(name))) return
          attribute(name, typeof value === "string" ? withoutSecrets(value) : value)
        },
        end: (time: bigint, exit: Exit.Exit<unknown, unknown>) => end(time, safeExit(exit))
      })
    }
  })

const { version } = packageJson

const exported = (endpoint: string) => {
  const options = {
    resource: { serviceName: "agent-memory", serviceVersion: version },
    shutdownTimeout: "2 seconds"
  } as const
  const traces = Layer.effect(
    Tracer.Tracer,
    Effect.map(OtlpTracer.make({ ...options, url: `${endpoint}/v1/traces` }), guarded)
  ).pipe(Layer.provide(OtlpExporter.layerFlusher))
  return Layer.merge(traces, OtlpMetrics.layer({ ...options, url: `${endpoint}/v1/metrics` })).pipe(
    Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer])
  )
}

/** Sends traces and metrics to `OTEL_EXPORTER_OTLP_ENDPOINT`. If it is not set, there are no spans. */
const TracingLayer = Layer.unwrap(
  Effect.map(Settings, ({ otlpEndpoint }) =>
    Option.match(otlpEndpoint, {
      onNone: () => Layer.succeed(References.TracerEnabled, false),
      onSome: exported
    })
  )
)

/** Logs, metrics and traces of the whole service. */
export const TelemetryLayer = Layer.mergeAll(
  LoggingLayer,
  TracingLayer,
  Layer.effectDiscard(Metrics.processMetrics(version))
)
