import { findLocalSecret, localSecretFile } from "../../server/doors/LocalSecret.ts"
import { type ConfigProblem, type Settings, isLoopbackHost } from "../../server/config/Settings.ts"
import { probe } from "../../server/keys/RateLimiterRedis.ts"
import { RedisLink } from "../../server/keys/RedisLink.ts"
import { smtpOptions } from "../../server/mail/Mailer.ts"
import { openExternal } from "../../server/sql/Database.ts"
import { currentOwner } from "../../server/sql/EmbeddedAccess.ts"
import { type EmbeddedPostgresAddress, clusterOf, findEmbedded, homeOf } from "../../server/sql/EmbeddedPostgres.ts"
import { findPrograms } from "../../server/sql/EmbeddedPrograms.ts"
import { newerWarning, obstacleOf, pendingOf, stateOf } from "../../server/sql/Migrations.ts"
import { type Finding, findingsOf } from "./Finding.ts"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted, References } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"
import { accessSync, constants, existsSync } from "node:fs"
import { dirname, resolve } from "node:path"

const ofSettings = findingsOf("configuration")

/** The invalid settings. */
export const unusable = ({ issues }: ConfigProblem): ReadonlyArray<Finding> =>
  issues.map(({ expected, value, variable }) =>
    ofSettings.failed(`${variable} is ${value}`, `Set ${variable} to ${expected}.`)
  )

/** Combinations of settings that are rarely intended. */
export const configuration = (settings: Settings["Service"]): ReadonlyArray<Finding> => {
  const { baseUrl, host, isBaseUrlAssumed, loopback, port, trustedProxies } = settings
  const doubts = [
    {
      holds: isBaseUrlAssumed && !isLoopbackHost(host),
      detail: `HOST is ${host}, so other machines can reach the service, but its URLs start with ${baseUrl}`,
      fix: "Set BASE_URL to the service's public URL, or HOST to 127.0.0.1."
    },
    {
      holds: !loopback && baseUrl.startsWith("http:"),
      detail: `BASE_URL is ${baseUrl}, so keys and codes are sent unencrypted`,
      fix: "Put a proxy with TLS in front, and set BASE_URL to the https URL."
    },
    {
      holds: !loopback && isLoopbackHost(host) && trustedProxies.length === 0,
      detail: "TRUSTED_PROXIES is not set, so all clients behind the proxy of BASE_URL count as one",
      fix: "Set TRUSTED_PROXIES to the proxy's address, for example 127.0.0.1."
    }
  ].filter(({ holds }) => holds)
  if (doubts.length > 0) return doubts.map(({ detail, fix }) => ofSettings.warning(detail, fix))
  return [ofSettings.ok(`BASE_URL is ${baseUrl}, listening on ${host} port ${port}`)]
}

/** The message's first sentence is what failed, the others say what to do. */
const failure = (check: typeof ofSettings, { message }: { readonly message: string }, otherwise = ""): Finding => {
  const [what = message, ...fix] = message.split(/(?<=\.)\s+|\n/)
  return check.failed(what, fix.join(" ") || otherwise)
}

const ofDatabase = findingsOf("database")

const look = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, place: string) {
  const [found] = yield* sql<{ version: string; isEncrypted: boolean | null }>`
    SELECT current_setting('server_version') AS version,
      (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS "isEncrypted"
  `
  const { isEncrypted, version } = found!
  const state = yield* stateOf(sql)
  const obstacle = obstacleOf(state)
  if (obstacle !== undefined) return ofDatabase.failed(obstacle.cause, obstacle.remedy)
  const newer = newerWarning(state)
  if (newer !== undefined) return ofDatabase.warning(newer.cause, newer.remedy)
  const server = `PostgreSQL ${version.split(" ")[0]} ${place}${isEncrypted === true ? ", encrypted" : ""}`
  return pendingOf(state).length === 0
    ? ofDatabase.ok(`${server}, up to date`)
    : ofDatabase.ok(`${server}, will be migrated by the next start or by migrate`)
})

/** The folder, or its nearest existing parent. */
const nearest = (folder: string): string => (existsSync(folder) ? folder : nearest(dirname(folder)))

const mayWrite = (folder: string): boolean => {
  try {
    accessSync(nearest(folder), constants.W_OK)
    return true
  } catch {
    return false
  }
}

const lookInto = Effect.fnUntraced(function* ({ dataDir, ...address }: EmbeddedPostgresAddress) {
  const client = yield* PgClient.make({ ...address, connectTimeout: "2 seconds", maxConnections: 1 })
  return yield* look(client, `embedded in ${dataDir}, in use by a running service`)
})

const embedded = Effect.fnUntraced(function* (dataDir: string) {
  const folder = resolve(dataDir)
  const running = yield* findEmbedded(dataDir)
  if (Option.isSome(running)) return yield* lookInto(running.value)
  if (!mayWrite(folder)) {
    return ofDatabase.failed(`${folder} is not writable`, "Set DATA_DIR to a folder that this user can write to.")
  }
  const home = yield* homeOf(dataDir)
  const { major } = yield* findPrograms(currentOwner(clusterOf(home)), home)
  const state = existsSync(folder) ? "not in use now" : "created by the first start"
  return ofDatabase.ok(`embedded PostgreSQL ${major} in ${folder}, ${state}`)
})

/** Whether the database can be used. Starts and changes nothing. */
export const database = Effect.fnUntraced(
  function* ({ databaseUrl, dataDir }: Settings["Service"]) {
    if (Option.isNone(databaseUrl)) return yield* embedded(dataDir)
    const { client } = yield* openExternal(databaseUrl.value)
    return yield* look(client, "of DATABASE_URL")
  },
  Effect.scoped,
  Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
  Effect.catch((problem) => Effect.succeed(failure(ofDatabase, problem, "Check DATABASE_URL and the database's log.")))
)

const ofRateLimits = findingsOf("rate limits")

/** Whether the Redis of `REDIS_URL` can store the rate limits. No finding without `REDIS_URL`. */
export const rateLimits = Effect.fnUntraced(
  function* ({ redisUrl }: Settings["Service"]): Effect.fn.Return<ReadonlyArray<Finding>, never, never> {
    if (Option.isNone(redisUrl)) return []
    const isUp = yield* Layer.build(RedisLink.layer(redisUrl.value, probe)).pipe(
      Effect.flatMap((context) => Context.get(context, RedisLink).isUp),
      Effect.scoped
    )
    if (isUp) return [ofRateLimits.ok("stored in Redis")]
    return [
      ofRateLimits.warning(
        "the Redis of REDIS_URL cannot store them, so they are stored in PostgreSQL",
        "Check the address and password in REDIS_URL, and that this Redis is not a read-only replica or a node of a cluster."
      )
    ]
  },
  // The finding replaces the log lines about a lost Redis.
  Effect.provideService(References.MinimumLogLevel, "None")
)

const ofMail = findingsOf("mail")

const describe = (error: unknown): string => {
  const { code = "", message = "" } = error as { code?: string; message?: string }
  return `${message.split("\n")[0]} (${code})`
}

const adviceFor = (text: string): string => {
  if (/EAUTH|535/.test(text)) return "Check the user and password in SMTP_URL; percent-encode special characters."
  if (text.includes("STARTTLS")) {
    return "Use smtps://, or a server that offers STARTTLS. Only on a network that you trust, add ?requireTLS=false to SMTP_URL."
  }
  if (/ETLS|certificate|wrong version|SSL/i.test(text)) {
    return "Use smtps:// for a port with TLS from the start (465), and smtp:// for one that starts unencrypted (587)."
  }
  return "Check the host and port in SMTP_URL, and that this machine can connect to them."
}

const verify = Effect.fnUntraced(function* (url: string, from: string) {
  const { createTransport } = yield* Effect.promise(() => import("nodemailer"))
  const transport = createTransport({ ...smtpOptions(url), socketTimeout: 10_000 })
  const { host } = new URL(url)
  return yield* Effect.tryPromise({ try: () => transport.verify(), catch: describe }).pipe(
    Effect.match({
      onSuccess: () => ofMail.ok(`${host} accepts this service; mails are sent as ${from}`),
      onFailure: (text) => ofMail.failed(`${host} does not accept this service: ${text}`, adviceFor(text))
    }),
    Effect.ensuring(Effect.sync(() => transport.close()))
  )
})

/** Whether the local secret can be used, which gives access to links and codes in local mode. */
const local = (dataDir: string): Effect.Effect<Finding> =>
  Effect.match(findLocalSecret(dataDir), {
    onSuccess: () =>
      ofMail.ok(
        "printed to the service's terminal, because it only serves this machine, and shown to anyone with the secret in " +
          localSecretFile(dataDir)
      ),
    onFailure: (problem) => failure(ofMail, problem)
  })

/** Whether the mail server accepts this service. Sends no mail. In local mode, whether the local secret can be used. */
export const mail = ({ dataDir, localMode, mailFrom, smtpUrl }: Settings["Service"]): Effect.Effect<Finding> => {
  if (Option.isSome(smtpUrl)) return verify(Redacted.value(smtpUrl.value), mailFrom)
  if (localMode) return local(dataDir)
  return Effect.succeed(
    ofMail.warning(
      "printed to the service's terminal, so only people who see it can sign in",
      "Set SMTP_URL=smtps://user:password@mail.example.com."
    )
  )
}
