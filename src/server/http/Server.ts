import { NodeHttpServer } from "@effect/platform-node"
import { Console, Data, Effect, Layer, Option, Redacted } from "effect"
import type { HttpServerError } from "effect/http"
import { HttpServer } from "effect/http"
import { LocalSecret } from "../accounts/LocalSecret.ts"
import { localSecretFile } from "../accounts/LocalSecretFile.ts"
import { isLoopbackHost, localUrl, Settings } from "../Config.ts"
import { DataPlace } from "../sql/Database.ts"
import { makeNodeServer } from "./NodeServer.ts"

/** The address cannot be listened on; the message says what to set. */
export class ListenProblem extends Data.TaggedError("ListenProblem")<{ readonly message: string }> {}

const listenProblem = (host: string, port: number, error: HttpServerError.ServeError) => {
  const code = typeof error.cause === "object" && error.cause !== null && "code" in error.cause ? error.cause.code : ""
  const message =
    code === "EADDRINUSE"
      ? `Port ${port} on ${host} is in use. Stop the program that has it, or set PORT to another one.`
      : code === "EACCES"
        ? `Port ${port} needs more rights than this user has. Set PORT to 1024 or more.`
        : `Cannot listen on ${host} port ${port} (${String(code)}). Check HOST and PORT.`
  return new ListenProblem({ message })
}

/** Listens once the data is ready: whoever can connect is answered. Requests begun are finished on the way out. */
export const ServerLayer = Layer.unwrap(
  Effect.gen(function* () {
    const { host, port, trustedProxies } = yield* Settings
    yield* DataPlace
    return NodeHttpServer.layer(() => makeNodeServer(trustedProxies), {
      host,
      port,
      gracefulShutdownTimeout: "5 seconds"
    }).pipe(Layer.catchTag("ServeError", (error) => Layer.effectContext(Effect.fail(listenProblem(host, port, error)))))
  })
)

/** The settings as they are once the service listens: with `PORT=0` the system has chosen the port. */
export const ListeningSettings = Layer.effect(
  Settings,
  Effect.gen(function* () {
    const settings = yield* Settings
    const { address } = yield* HttpServer.HttpServer
    const port = "port" in address ? address.port : settings.port
    return Settings.of({ ...settings, port, baseUrl: settings.isBaseUrlAssumed ? localUrl(port) : settings.baseUrl })
  })
)

/** What it means that other machines reach a service that gives out addresses of this one. */
const warnOfReach = Effect.gen(function* () {
  const { baseUrl, host, isBaseUrlAssumed } = yield* Settings
  if (!isBaseUrlAssumed || isLoopbackHost(host)) return
  yield* Effect.logWarning(
    `Other machines can reach this service, as HOST is ${host}, but its links lead to ${baseUrl}, which works on this machine only. Set BASE_URL to its public address.`
  )
})

/** What it means that sign-ins and tokens travel unprotected. */
const warnOfPlainHttp = Effect.gen(function* () {
  const { baseUrl, loopback } = yield* Settings
  if (loopback || !baseUrl.startsWith("http:")) return
  yield* Effect.logWarning(
    `BASE_URL is ${baseUrl}: keys, codes and tokens travel readable for everybody on the way. Put TLS in front, and set BASE_URL to the https address.`
  )
})

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const askForLink = (baseUrl: string, headers = ""): string =>
  `curl -X POST ${baseUrl}/auth/magic-link${headers} -H 'Content-Type: application/json' -d '{"email":"you@example.com"}'`

/** The lines that lead to an API key. Commands are seen by all users of a machine, so they hold no secret. */
const firstSteps = ({ baseUrl, dataDir }: Settings["Service"], secret: LocalSecret["Service"]): ReadonlyArray<string> =>
  Option.match(secret.value, {
    onNone: () => [`Get an API key at ${baseUrl}/ in a browser, or here:`, `  ${askForLink(baseUrl)}`],
    onSome: (secret) => [
      "Get an API key in a browser, at the address that is yours alone:",
      `  ${baseUrl}/?local=${Redacted.value(secret)}`,
      "or here:",
      `  sed 's/^/X-Local-Secret: /' ${quoted(localSecretFile(dataDir))} |`,
      `    ${askForLink(baseUrl, " -H @-")}`
    ]
  })

/** Tells the person who started the service where it is, where the data is, and what to type next. */
export const Greeting = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const { baseUrl } = settings
    const secret = yield* LocalSecret
    const { description } = yield* DataPlace
    const address = yield* HttpServer.addressFormattedWith(Effect.succeed)
    yield* warnOfReach
    yield* warnOfPlainHttp
    yield* Console.log(
      [
        `Agent Memory is ready at ${baseUrl} (listening on ${address}).`,
        `Data is kept ${description}.`,
        ...firstSteps(settings, secret)
      ].join("\n")
    )
  })
)
