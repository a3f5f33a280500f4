import { Clock, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { HttpLayer } from "../App.ts"
import * as AgentMemory from "../client/effect.ts"
import { MagicLinkRequest, type Email } from "../domain/Account.ts"
import { LocalSecret } from "../server/accounts/LocalSecret.ts"
import { Owners } from "../server/accounts/Owners.ts"
import { localUrl, Settings } from "../server/Config.ts"
import { ListeningSettings, ServerLayer } from "../server/http/Server.ts"
import { Keys } from "../server/keys/Keys.ts"
import { Outbox, type Mail } from "../server/mail/Mailer.ts"
import { SafeFetchLayer } from "../server/oauth/SafeFetch.ts"
import { embeddedLayer } from "../server/sql/Database.ts"
import { transact } from "../server/sql/SqlFailure.ts"
import { setClock } from "./DatabaseClock.ts"
import { makeMovableClock } from "./MovableClock.ts"
import { resetDatabase } from "./Reset.ts"
import { servicesOn, settingsLayer } from "./TestServices.ts"
import { TestServer, TestServerProblem, type TestMail } from "./TestServer.ts"
import { throwAwayFolder } from "./ThrowAwayFolder.ts"

/** How a test's service differs from one that was started without settings. */
export interface TestServerOptions {
  /**
   * Environment variables of the service, as the README lists them, such as `{ LIMIT_WRITES_PER_MINUTE: "30" }`. Rate
   * limits are out of the way unless they are set here. `PORT` is a free one.
   */
  readonly variables?: Readonly<Record<string, string>> | undefined
}

/** These would reach for something that other programs use, and `reset` would empty it. */
const ownVariables = ["DATABASE_URL", "DATA_DIR", "REDIS_URL"]

const firstEmail = "test@example.com"

const mailOf = ({ subject, text, to }: Mail): TestMail => ({
  to,
  subject,
  text,
  link: /^https?:\S+$/m.exec(text)?.[0],
  code: /^\d{6}$/m.exec(text)?.[0]
})

const problem = (error: { readonly message: string }) => new TestServerProblem({ message: error.message })

type MovableClock = ReturnType<typeof makeMovableClock>

const serverOver = (time: MovableClock) =>
  Layer.effect(
    TestServer,
    Effect.gen(function* () {
      const { port } = yield* Settings
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      const secret = yield* LocalSecret
      const owners = yield* Owners
      const keys = yield* Keys

      const issue = Effect.fnUntraced(function* (email: Email) {
        const accountId = yield* owners.accountOf(email)
        return { accountId, key: yield* keys.issue(accountId, "test") }
      }, transact(sql))

      const setTime = (offset: number) =>
        setClock(`${offset} milliseconds`).pipe(
          Effect.provideService(SqlClient.SqlClient, sql),
          Effect.andThen(Effect.sync(() => time.setOffset(offset)))
        )

      const signIn = (address: string) =>
        Schema.decodeEffect(MagicLinkRequest)({ email: address }).pipe(
          Effect.flatMap(({ email }) => issue(email)),
          Effect.mapError(({ message }) => problem({ message: `Nobody can sign in as "${address}": ${message}` }))
        )

      const first = yield* signIn(firstEmail)

      return TestServer.of({
        url: localUrl(port),
        apiKey: Redacted.make(first.key.api_key),
        localSecret: Option.getOrUndefined(secret.value),
        signIn: (email) =>
          Effect.map(signIn(email), ({ accountId, key }) => ({ accountId, apiKey: Redacted.make(key.api_key) })),
        mails: Effect.map(outbox.sent, (mails) => mails.map(mailOf)),
        advance: (duration) =>
          Effect.orDie(
            Effect.suspend(() => setTime(time.offset() + Duration.toMillis(Duration.fromInputUnsafe(duration))))
          ),
        reset: resetDatabase(first.accountId, first.key.id).pipe(
          sql.withTransaction,
          Effect.provideService(SqlClient.SqlClient, sql),
          Effect.andThen(setTime(0)),
          Effect.andThen(outbox.clear),
          Effect.orDie
        )
      })
    })
  ).pipe(Layer.provide(Owners.layer))

const serverLayer = ({ variables = {} }: TestServerOptions): Layer.Layer<TestServer, TestServerProblem> => {
  const refused = ownVariables.filter((name) => name in variables)
  if (refused.length > 0) {
    const message = `A test's service keeps its data in a database of its own, so ${refused.join(", ")} cannot be set.`
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
 * A whole Agent Memory in this process, and the client of its first account: on an embedded PostgreSQL of its own in a
 * temporary folder, behind a socket. It takes a second or two to start and is gone at the end, so make it once and share
 * it between tests, with `reset` between them.
 */
export const layerTest = (
  options: TestServerOptions = {}
): Layer.Layer<AgentMemory.AgentMemory | TestServer, TestServerProblem> =>
  Layer.provideMerge(clientLayer, serverLayer(options))
