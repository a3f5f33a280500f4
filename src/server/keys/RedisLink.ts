import { Cause, Context, Data, Deferred, Effect, Exit, Layer, Predicate, Redacted } from "effect"

/** Redis is unavailable. `reason` is a code, because Redis' messages may contain a password. */
export class RedisLost extends Data.TaggedError("RedisLost")<{ readonly reason: string }> {}

/** Sends a command and returns Redis' reply. */
export type Send = (command: ReadonlyArray<string>) => Promise<unknown>

interface Connection {
  readonly send: Send
  readonly lose: (error: unknown) => void
  readonly lost: Effect.Effect<never, RedisLost>
}

// In milliseconds.
const replyTimeout = 250
const connectTimeout = 1000

const reasonOf = (error: unknown): string => {
  if (error instanceof RedisLost) return error.reason
  if (Predicate.hasProperty(error, "code") && Predicate.isString(error.code)) return error.code
  if (!(error instanceof Error)) return "unknown"
  return /^[A-Z]{3,}(?= )/.exec(error.message)?.[0] ?? error.constructor.name
}

const lostBy = (error: unknown): RedisLost => new RedisLost({ reason: reasonOf(error) })

/**
 * A connection to Redis, remade a second after it was lost. It is lost with the first command that fails or gets no reply in
 * a quarter of a second; all other commands then fail at once until it is back. Loss and return are logged once each.
 */
export class RedisLink extends Context.Service<
  RedisLink,
  {
    readonly isUp: Effect.Effect<boolean>
    readonly ask: <A>(question: (send: Send) => Promise<A>) => Effect.Effect<A, RedisLost>
  }
>()("agent-memory/server/keys/RedisLink") {
  /** `probe` checks that Redis can do all that is needed. Redis is lost until it succeeds. */
  static readonly layer = (url: Redacted.Redacted, probe: (send: Send) => Promise<unknown>) =>
    Layer.effect(
      RedisLink,
      Effect.gen(function* () {
        // Loaded only with REDIS_URL.
        const { createClient } = yield* Effect.promise(() => import("@redis/client"))
        const attempted = yield* Deferred.make<void>()
        let current: Connection | undefined
        let isReportedLost = false

        const connect = Effect.gen(function* () {
          const lost = yield* Deferred.make<never, RedisLost>()
          const client = yield* Effect.acquireRelease(
            Effect.try({
              try: () =>
                createClient({
                  url: Redacted.value(url),
                  RESP: 2,
                  disableOfflineQueue: true,
                  disableClientInfo: true,
                  maintNotifications: "disabled",
                  commandOptions: { timeout: 0 },
                  socket: { connectTimeout, reconnectStrategy: false }
                }),
              catch: lostBy
            }),
            // Unlike `close`, this waits for no reply.
            (client) => Effect.sync(() => client.destroy())
          )
          const connection: Connection = {
            send: (command) => client.sendCommand([...command]),
            lose: (error) => {
              if (current === connection) current = undefined
              Deferred.doneUnsafe(lost, Exit.fail(lostBy(error)))
              client.destroy()
            },
            lost: Deferred.await(lost)
          }
          let isAbandoned = false
          client.on("error", connection.lose)
          yield* Effect.tryPromise({
            try: async () => {
              await client.connect()
              // A socket that connects after its client was destroyed stays open.
              if (isAbandoned) client.destroy()
              await probe(connection.send)
            },
            catch: lostBy
          }).pipe(
            Effect.timeoutOrElse({
              duration: connectTimeout,
              orElse: () => Effect.fail(new RedisLost({ reason: "TIMEOUT" }))
            }),
            Effect.onError(() => Effect.sync(() => void (isAbandoned = true)))
          )
          return connection
        })

        const serve = Effect.gen(function* () {
          const connection = yield* connect
          current = connection
          if (isReportedLost) yield* Effect.logInfo("Redis is back: requests are counted there again")
          isReportedLost = false
          yield* Deferred.succeed(attempted, undefined)
          return yield* connection.lost
        }).pipe(
          Effect.ensuring(Effect.sync(() => void (current = undefined))),
          Effect.scoped,
          Effect.catchCause((cause) => {
            if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
            if (isReportedLost) return Effect.void
            isReportedLost = true
            const reason = reasonOf(Cause.squash(cause))
            return Effect.logWarning("Redis is lost: requests are counted in PostgreSQL until it is back", { reason })
          }),
          Effect.andThen(Deferred.succeed(attempted, undefined))
        )

        yield* Effect.forkScoped(Effect.forever(Effect.andThen(serve, Effect.sleep("1 second"))))
        yield* Deferred.await(attempted)

        const ask = <A>(question: (send: Send) => Promise<A>) =>
          Effect.callback<A, RedisLost>((resume) => {
            const connection = current
            if (connection === undefined) return resume(new RedisLost({ reason: "LOST" }))
            let isAnswered = false
            const late = () => {
              if (!isAnswered) connection.lose(new RedisLost({ reason: "TIMEOUT" }))
            }
            // After a pause of this process the reply may have arrived unread, so pending input is read first.
            const timer = setTimeout(() => setImmediate(late), replyTimeout)
            const answered = (effect: Effect.Effect<A, RedisLost>) => {
              isAnswered = true
              clearTimeout(timer)
              resume(effect)
            }
            question(connection.send).then(
              (answer) => answered(Effect.succeed(answer)),
              (error: unknown) => {
                connection.lose(error)
                answered(Effect.fail(lostBy(error)))
              }
            )
          })

        return RedisLink.of({ isUp: Effect.sync(() => current !== undefined), ask })
      })
    )
}
