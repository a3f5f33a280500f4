import { Effect, Exit, Metric } from "effect"
import type { Context, Scope } from "effect"

// Labels have few values. Table names or ids would make too many series.

const seconds = { unit: "seconds" }
const bytes = { unit: "bytes" }
const latencyBoundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The series of a metric by the values of its labels, each created on first use. */
const family = <M>(labels: ReadonlyArray<string>, make: (attributes: Record<string, string>) => M) => {
  const series = new Map<string, M>()
  return (...values: ReadonlyArray<string>): M => {
    const key = values.join(" ")
    const known = series.get(key)
    if (known !== undefined) return known
    const made = make(Object.fromEntries(labels.map((label, index) => [label, values[index]!])))
    series.set(key, made)
    return made
  }
}

const counter = (name: string, description: string, attributes: Record<string, string> = {}) =>
  Metric.counter(name, { description, incremental: true, attributes })

const counters = (name: string, description: string, labels: ReadonlyArray<string>) =>
  family(labels, (attributes) => counter(name, description, attributes))

const gauge = (name: string, description: string, attributes: Record<string, string> = {}) =>
  Metric.gauge(name, { description, attributes })

const requestsTotal = counters(
  "agent_memory_http_requests_total",
  "Requests answered, by operation and status (499: the client closed the connection).",
  ["operation", "status"]
)
const requestDuration = family(["operation", "status"], (attributes) =>
  Metric.histogram("agent_memory_http_request_duration_seconds", {
    description: "Time from a request's headers until its response is ready, in seconds, by operation and status.",
    attributes: { ...attributes, ...seconds },
    boundaries: latencyBoundaries
  })
)
const requestsInFlight = gauge("agent_memory_http_requests_in_flight", "Requests in progress.")
const verdicts = counters(
  "agent_memory_rate_limit_verdicts_total",
  "Verdicts on requests of a key or connection (class read or write), or of an address (class flood at /mcp, anonymous elsewhere), by class and verdict.",
  ["class", "verdict"]
)
const operationsInFlight = gauge(
  "agent_memory_database_operations_in_flight",
  "Statements and transactions that hold or wait for a database connection."
)
const connectionsMax = gauge(
  "agent_memory_database_connections_max",
  "Maximum number of database connections of this process."
)
const operationDuration = Metric.histogram("agent_memory_database_operation_duration_seconds", {
  description: "Time of a statement or transaction in seconds, including retries and the wait for a connection.",
  attributes: seconds,
  boundaries: latencyBoundaries
})
const databaseFailures = counters(
  "agent_memory_database_failures_total",
  "Statements and transactions that failed, by reason.",
  ["reason"]
)
const writesQueued = gauge("agent_memory_write_queue_length", "Writes that wait in the queues of their accounts.")
const groupWrites = Metric.histogram("agent_memory_write_group_size", {
  description: "Writes in one group commit.",
  boundaries: [1, 2, 3, 5, 10, 20, 50, 100, 200]
})
const commits = counter("agent_memory_write_commits_total", "Group commits.")
const staleRetries = counter(
  "agent_memory_write_stale_retries_total",
  "Attempts repeated because the account had changed since it was read."
)
const cacheHits = counter("agent_memory_table_cache_hits_total", "Reads that a cached table answered.")
const cacheMisses = counter(
  "agent_memory_table_cache_misses_total",
  "Reads that the database answered, because the table was not cached or out of date."
)
const cacheSize = gauge("agent_memory_table_cache_bytes", "Memory of the cached tables, in bytes.", bytes)
const sweepBatches = counters("agent_memory_sweep_batches_total", "Batches of expired data removed, by kind.", ["kind"])
const sweptRows = counters("agent_memory_swept_rows_total", "Expired rows removed, by kind.", ["kind"])
const residentMemory = gauge(
  "agent_memory_process_resident_memory_bytes",
  "Resident memory of the process, in bytes.",
  bytes
)
const heapUsed = gauge("agent_memory_process_heap_used_bytes", "JavaScript heap in use, in bytes.", bytes)
const cpu = counter(
  "agent_memory_process_cpu_seconds_total",
  "CPU time of the process since its start, in seconds.",
  seconds
)
const eventLoopLag = Metric.histogram("agent_memory_event_loop_lag_seconds", {
  description: "Delay of a 250 ms timer, in seconds: how long synchronous work blocks the event loop.",
  attributes: seconds,
  boundaries: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
})
const buildInfo = (version: string) => gauge("agent_memory_build_info", "1, labelled with the version.", { version })

const record = <I>(metric: Metric.Metric<I, unknown>, value: I): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    metric.updateUnsafe(value, fiber.context)
    return Exit.void
  })

/** A metric that is read when it is scraped, until the scope closes. */
const observedState = <S>(metric: Metric.Metric<number, S>, get: () => S): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.contextWith((context) =>
        Effect.sync(() =>
          Metric.registerUnsafe(metric, context, { get, update: () => undefined, modify: () => undefined })
        )
      ),
      (registration) => Effect.sync(registration.remove)
    )
  )

const observed = (gauge: Metric.Gauge<number>, read: () => number) => observedState(gauge, () => ({ value: read() }))

const inFlight = { requests: 0, operations: 0 }

/** Counts a request; `duration` is in milliseconds. */
export const requestAnswered = (
  context: Context.Context<never>,
  operation: string,
  status: number,
  duration: number
): void => {
  const code = String(status)
  requestsTotal(operation, code).updateUnsafe(1, context)
  requestDuration(operation, code).updateUnsafe(duration / 1000, context)
}

/** Counts a request as in progress until `end`. */
export const requestBegun = (): { readonly end: () => void } => {
  inFlight.requests++
  return { end: () => void inFlight.requests-- }
}

type LimitedClass = "read" | "write" | "message" | "flood" | "anonymous"
type Verdict = "Admitted" | "Passed" | "Limited" | "Unknown"

const verdictsOf = (requestClass: LimitedClass, verdict: Verdict) =>
  verdicts(requestClass, verdict === "Passed" ? "admitted" : verdict.toLowerCase())

/** Counts a verdict of a rate limiter. */
export const rateLimitVerdict = (requestClass: LimitedClass, verdict: Verdict): Effect.Effect<void> =>
  record(verdictsOf(requestClass, verdict), 1)

/** {@link rateLimitVerdict} without an effect. */
export const rateLimitVerdictUnsafe = (
  context: Context.Context<never>,
  requestClass: LimitedClass,
  verdict: Verdict
): void => verdictsOf(requestClass, verdict).updateUnsafe(1, context)

/** Measures an effect that needs one database connection. */
export const databaseOperation = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => {
    const start = performance.now()
    inFlight.operations++
    return Effect.onExit(effect, () => {
      inFlight.operations--
      operationDuration.updateUnsafe((performance.now() - start) / 1000, context)
      return Exit.void
    })
  })

/** Counts a failure of the database, by the tag of its reason. */
export const databaseFailed = (reason: string): Effect.Effect<void> => record(databaseFailures(reason), 1)

/** Reports the size of the connection pool until the scope closes. */
export const databaseConnections = (max: number): Effect.Effect<void, never, Scope.Scope> =>
  observed(connectionsMax, () => max)

/** Reports how many writes wait until the scope closes. */
export const writeQueue = (length: () => number): Effect.Effect<void, never, Scope.Scope> =>
  observed(writesQueued, length)

/** Reports the hits, misses and size of the table cache until the scope closes. */
export const tableCache = (
  read: () => { readonly hits: number; readonly misses: number; readonly bytes: number }
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.all([
      observedState(cacheHits, () => ({ count: read().hits, incremental: true })),
      observedState(cacheMisses, () => ({ count: read().misses, incremental: true })),
      observed(cacheSize, () => read().bytes)
    ])
  )

/** Counts a group of writes. */
export const writeGroup = (size: number): Effect.Effect<void> => record(groupWrites, size)

/** Counts a commit of a group of writes. */
export const writeCommitted: Effect.Effect<void> = record(commits, 1)

/** Counts an attempt that has to be repeated. */
export const writeRetried: Effect.Effect<void> = record(staleRetries, 1)

/** Counts a batch of expired data, and the rows in it. `kind` is a fixed word such as `versions`. */
export const swept = (kind: string, rows: number): Effect.Effect<void> =>
  Effect.andThen(record(sweepBatches(kind), 1), record(sweptRows(kind), rows))

const lagInterval = 250

/** The metrics of the process: memory, CPU time and timer delays. Also starts the totals of writes at 0. */
export const processMetrics = (version: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    yield* observed(buildInfo(version), () => 1)
    yield* observed(residentMemory, () => process.memoryUsage.rss())
    yield* observed(heapUsed, () => process.memoryUsage().heapUsed)
    yield* observedState(cpu, () => {
      const { system, user } = process.cpuUsage()
      return { count: (system + user) / 1_000_000, incremental: true }
    })
    yield* observed(requestsInFlight, () => inFlight.requests)
    yield* observed(operationsInFlight, () => inFlight.operations)
    yield* record(commits, 0)
    yield* record(staleRetries, 0)
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        let due = performance.now() + lagInterval
        const timer = setInterval(() => {
          const now = performance.now()
          eventLoopLag.updateUnsafe(Math.max(0, now - due) / 1000, context)
          due = now + lagInterval
        }, lagInterval)
        return timer.unref()
      }),
      (timer) => Effect.sync(() => clearInterval(timer))
    )
  })
