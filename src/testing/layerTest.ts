import { Clock, Duration, Effect, ConfigProvider, Context, Data, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NodeCrypto } from "@effect/platform-node"
import { HttpLayer, ServicesLayer } from "../App.ts"
import * as AgentMemory from "../client/EffectClient.ts"
import { MagicLinkRequest, type Email } from "../domain/Account.ts"
import { LocalSecret } from "../server/doors/LocalSecret.ts"
import { Accounts } from "../server/accounts/Accounts.ts"
import { localUrl, Settings } from "../server/config/Settings.ts"
import { ListeningSettings, ServerLayer } from "../server/doors/Server.ts"
import { Keys } from "../server/keys/Keys.ts"
import { LastUses } from "../server/keys/LastUses.ts"
import { RateLimiter } from "../server/keys/RateLimiter.ts"
import { Mailer, Outbox, type Mail } from "../server/mail/Mailer.ts"
import type { DocumentFetcher } from "../server/oauth/ClientDocuments.ts"
import { SafeFetchLayer } from "../server/oauth/SafeFetch.ts"
import { embeddedLayer } from "../server/sql/Database.ts"
import { transact } from "../server/sql/SqlFailure.ts"
import { TelemetryLayer } from "../server/telemetry/Telemetry.ts"
import { resetDatabase, throwAwayFolder } from "./TestDatabase.ts"

const longestTimer = 2_147_483_647

/** Real time that can be moved forward, which wakes all sleepers whose time has passed then. */
export const makeMovableClock = () => {
  const real = Clock.Clock.defaultValue()
  let offset = 0
  /** Each wakes its sleeper if it is time, or waits on. */
  const sleepers = new Set<() => void>()

  const now = () => real.currentTimeMillisUnsafe() + offset
  const offsetNanos = () => BigInt(Math.round(offset * 1_000_000))

  const sleep = (duration: Duration.Duration) =>
    Effect.callback<void>((resume) => {
      const due = now() + Duration.toMillis(duration)
      let timer: NodeJS.Timeout | undefined
      const forget = () => {
        clearTimeout(timer)
        sleepers.delete(look)
      }
      const look = () => {
        clearTimeout(timer)
        const left = due - now()
        if (left > 0) {
          timer = setTimeout(look, Math.min(left, longestTimer))
          return
        }
        forget()
        resume(Effect.void)
      }
      sleepers.add(look)
      look()
      return Effect.sync(forget)
    })

  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: () => real.currentTimeNanosUnsafe() + offsetNanos(),
    currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe()),
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe() + offsetNanos(),
    monotonicTimeNanos: Effect.sync(() => clock.monotonicTimeNanosUnsafe()),
    sleep
  }

  const setOffset = (milliseconds: number): void => {
    offset = milliseconds
    sleepers.forEach((look) => look())
  }

  return { clock, setOffset, offset: () => offset }
}

/** Moves the database's clock against real time. `interval` is one of PostgreSQL, such as `31 days`. */
export const setClock = Effect.fnUntraced(function* (interval: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE OR REPLACE FUNCTION memory_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN date_trunc('milliseconds', clock_timestamp()) + interval '${sql.literal(interval)}'
  `
})

/** A mail that the service would have sent. */
export interface TestMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The sign-in link in the mail, if there is one. */
  readonly link: string | undefined
  /** The 6-digit code in the mail, for a sign-in that began in a browser. */
  readonly code: string | undefined
}

/** The test server did not start, or a call of it failed; the message says why. */
export class TestServerProblem extends Data.TaggedError("TestServerProblem")<{ readonly message: string }> {}

/** A running Agent Memory for tests, with functions to control it. */
export class TestServer extends Context.Service<
  TestServer,
  {
    /** Its URL, without a trailing slash. */
    readonly url: string
    /** A key of its first account. It stays valid after `reset`. */
    readonly apiKey: Redacted.Redacted
    /**
     * The local secret. Tests of the sign-in can send it as `X-Local-Secret` to get the link in the response. Undefined if
     * `variables` turn local mode off. `signIn` and `mails` do not need it.
     */
    readonly localSecret: Redacted.Redacted | undefined
    /** Creates a key for the account of an email address, and the account if needed. Sends no mail. */
    readonly signIn: (
      email: string
    ) => Effect.Effect<{ readonly accountId: string; readonly apiKey: Redacted.Redacted }, TestServerProblem>
    /** The mails since the start or the last reset, oldest first. Includes those of every request that has a response. */
    readonly mails: Effect.Effect<ReadonlyArray<TestMail>>
    /** Moves the service's clock forward, so that links, versions and limits expire; the test's own clock stays. */
    readonly advance: (duration: Duration.Input) => Effect.Effect<void>
    /** Restores the state at the start: no rows, mails or other accounts, and the real time. */
    readonly reset: Effect.Effect<void>
  }
>()("agent-memory/testing/layerTest/TestServer") {}

/**
 * The settings of these variables. Rate limits are very high unless the variables set them.
 *
 * @internal
 */
export const settingsLayer = (variables: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown({
          LOG_LEVEL: "warn",
          LIMIT_WRITES_PER_MINUTE: "1000000",
          LIMIT_READS_PER_MINUTE: "1000000",
          LIMIT_KEYS_PER_HOUR: "1000000",
          LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "1000000",
          LIMIT_VERIFIES_PER_IP_PER_HOUR: "1000000",
          LIMIT_REGISTRATIONS_PER_IP_PER_HOUR: "1000000",
          LIMIT_MCP_REQUESTS_PER_IP_PER_MINUTE: "1000000",
          LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE: "1000000",
          ...variables
        })
      )
    )
  )

/**
 * All services, without HTTP, on a database and a fetcher of documents; mail goes to the `Outbox`.
 *
 * @internal
 */
export const servicesOn = <A, E, B, E2>(
  infrastructure: Layer.Layer<A | SqlClient.SqlClient | DocumentFetcher, E>,
  settings: Layer.Layer<B | Settings, E2>
) =>
  ServicesLayer.pipe(
    Layer.provideMerge([RateLimiter.layerPostgres, LastUses.layer]),
    Layer.provideMerge([Mailer.layerMemory, LocalSecret.layerMemory]),
    Layer.provideMerge(infrastructure),
    Layer.provideMerge(TelemetryLayer),
    Layer.provideMerge(settings),
    Layer.provideMerge(NodeCrypto.layer)
  )

/** Options of the test server. */
export interface TestServerOptions {
  /**
   * Environment variables of the service, as listed under `/docs/configuration`, such as `{ LIMIT_WRITES_PER_MINUTE: "30" }`.
   * Rate limits are very high unless set here. `PORT` is a free port by default.
   */
  readonly variables?: Readonly<Record<string, string>> | undefined
}

/** These might lead to data of other programs, which `reset` would delete. */
const ownVariables = ["DATABASE_URL", "DATA_DIR", "REDIS_URL"]

const mailOf = ({ subject, text, to }: Mail): TestMail => ({
  to,
  subject,
  text,
  link: /^https?:\S+$/m.exec(text)?.[0],
  code: /^\d{6}$/m.exec(text)?.[0]
})

const problem = (error: { readonly message: string }) => new TestServerProblem({ message: error.message })

const serverOver = (time: ReturnType<typeof makeMovableClock>) =>
  Layer.effect(
    TestServer,
    Effect.gen(function* () {
      const { port } = yield* Settings
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      const secret = yield* LocalSecret
      const accounts = yield* Accounts
      const keys = yield* Keys

      const issue = Effect.fnUntraced(function* (email: Email) {
        const accountId = yield* accounts.findOrCreate(email)
        const { api_key, id } = yield* keys.issue(accountId, "test")
        return { accountId, keyId: id, apiKey: Redacted.make(api_key) }
      }, transact(sql))

      const setTime = (offset: number) =>
        setClock(`${offset} milliseconds`).pipe(
          Effect.provideService(SqlClient.SqlClient, sql),
          Effect.andThen(Effect.sync(() => time.setOffset(offset)))
        )

      const signIn = (address: string) =>
        Schema.decodeEffect(MagicLinkRequest)({ email: address }).pipe(
          Effect.flatMap(({ email }) => issue(email)),
          Effect.mapError(({ message }) => problem({ message: `"${address}" cannot sign in: ${message}` }))
        )

      const first = yield* signIn("test@example.com")

      return TestServer.of({
        url: localUrl(port),
        apiKey: first.apiKey,
        localSecret: Option.getOrUndefined(secret.value),
        signIn: (email) => Effect.map(signIn(email), ({ accountId, apiKey }) => ({ accountId, apiKey })),
        mails: Effect.map(outbox.sent, (mails) => mails.map(mailOf)),
        advance: (duration) =>
          Effect.orDie(
            Effect.suspend(() => setTime(time.offset() + Duration.toMillis(Duration.fromInputUnsafe(duration))))
          ),
        reset: resetDatabase(first.accountId, first.keyId).pipe(
          sql.withTransaction,
          Effect.provideService(SqlClient.SqlClient, sql),
          Effect.andThen(setTime(0)),
          Effect.andThen(outbox.clear),
          Effect.orDie
        )
      })
    })
  )

const serverLayer = ({ variables = {} }: TestServerOptions): Layer.Layer<TestServer, TestServerProblem> => {
  const refused = ownVariables.filter((name) => name in variables)
  if (refused.length > 0) {
    const message = `The test server has its own database, so ${refused.join(", ")} cannot be set.`
    return Layer.effect(TestServer, Effect.fail(new TestServerProblem({ message })))
  }
  const time = makeMovableClock()
  const database = Layer.unwrap(Effect.map(throwAwayFolder, (dataDir) => embeddedLayer({ dataDir, durable: false })))
  const infrastructure = Layer.merge(database, SafeFetchLayer)
  const listening = ListeningSettings.pipe(
    Layer.provideMerge(ServerLayer),
    Layer.provide([database, settingsLayer({ PORT: "0", ...variables })])
  )
  return HttpLayer.pipe(
    Layer.provideMerge(serverOver(time)),
    Layer.provide(servicesOn(infrastructure, listening)),
    Layer.provide(Layer.succeed(Clock.Clock, time.clock)),
    Layer.catch((error) => Layer.effect(TestServer, Effect.fail(problem(error))))
  )
}

const clientLayer = Layer.unwrap(
  Effect.map(TestServer, ({ apiKey, url }) => AgentMemory.layer({ apiKey, baseUrl: url }))
)

/**
 * A complete Agent Memory in this process, with an embedded PostgreSQL in a temporary folder and an HTTP server, and the
 * client of its first account. It starts in a second or two and is removed at the end. Share one between tests, with `reset`
 * between them.
 */
export const layerTest = (
  options: TestServerOptions = {}
): Layer.Layer<AgentMemory.AgentMemory | TestServer, TestServerProblem> =>
  Layer.provideMerge(clientLayer, serverLayer(options))
