import { Layer } from "effect"
import { LoggingLayer } from "./Logging.ts"
import * as Metrics from "./Metrics.ts"
import { tracingLayer } from "./Tracing.ts"

const version = "0.1.0"

/** Logs, metrics and traces of the whole service. */
export const TelemetryLayer = Layer.mergeAll(
  LoggingLayer,
  tracingLayer(version),
  Layer.effectDiscard(Metrics.processMetrics(version))
)
