import { NodeHttpServer } from "@effect/platform-node"
import { Console, Data, Effect, Layer, Option, Redacted } from "effect"
import { type HttpServerError, HttpServer } from "effect/http"
import { LocalSecret, localSecretFile } from "./LocalSecret.ts"
import { isLoopbackHost, localUrl, Settings } from "../config/Settings.ts"
import { DataPlace } from "../sql/Database.ts"
import { codeOf } from "../sql/SqlFailure.ts"
import { makeNodeServer } from "./NodeServer.ts"

/** The service cannot listen on its address; the message says what to set. */
export class ListenProblem extends Data.TaggedError("ListenProblem")<{ readonly message: string }> {}

const listenProblem = (host: string, port: number, error: HttpServerError.ServeError) => {
  const code = codeOf(error.cause)
  const message =
    code === "EADDRINUSE"
      ? `Port ${port} on ${host} is in use. Stop the program that uses it, or set PORT to another one.`
      : code === "EACCES"
        ? `This user may not listen on port ${port}. Set PORT to 1024 or more.`
        : `Cannot listen on ${host} port ${port} (${code ?? ""}). Check HOST and PORT.`
  return new ListenProblem({ message })
}

/** Listens once the database is ready, and finishes requests in progress before it stops. */
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

/** The settings of the listening service: with `PORT=0` the system has chosen the port. */
export const ListeningSettings = Layer.effect(
  Settings,
  Effect.gen(function* () {
    const settings = yield* Settings
    const { address } = yield* HttpServer.HttpServer
    const port = "port" in address ? address.port : settings.port
    return Settings.of({ ...settings, port, baseUrl: settings.isBaseUrlAssumed ? localUrl(port) : settings.baseUrl })
  })
)

const warn = Effect.fnUntraced(function* ({ baseUrl, host, isBaseUrlAssumed, loopback }: Settings["Service"]) {
  if (isBaseUrlAssumed && !isLoopbackHost(host)) {
    yield* Effect.logWarning(
      `HOST is ${host}, so other machines can reach this service, but its URLs start with ${baseUrl}, which only works on this machine. Set BASE_URL to the public URL.`
    )
  }
  if (!loopback && baseUrl.startsWith("http:")) {
    yield* Effect.logWarning(
      `BASE_URL is ${baseUrl}, so keys, codes and tokens are sent unencrypted. Put a proxy with TLS in front, and set BASE_URL to the https URL.`
    )
  }
})

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const askForLink = (baseUrl: string, headers = ""): string =>
  `curl -X POST ${baseUrl}/auth/magic-link${headers} -H 'Content-Type: application/json' -d '{"email":"you@example.com"}'`

/** How to get an API key. All users of a machine can see its commands, so these contain no secret. */
const firstSteps = ({ baseUrl, dataDir }: Settings["Service"], secret: LocalSecret["Service"]): ReadonlyArray<string> =>
  Option.match(secret.value, {
    onNone: () => [`Get an API key at ${baseUrl}/ in a browser, or here:`, `  ${askForLink(baseUrl)}`],
    onSome: (secret) => [
      "Get an API key in a browser, at this private URL:",
      `  ${baseUrl}/?local=${Redacted.value(secret)}`,
      "or here:",
      `  sed 's/^/X-Local-Secret: /' ${quoted(localSecretFile(dataDir))} |`,
      `    ${askForLink(baseUrl, " -H @-")}`
    ]
  })

/** Prints where the service and its data are, and how to get an API key. */
export const Greeting = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const secret = yield* LocalSecret
    const { description } = yield* DataPlace
    const address = yield* HttpServer.addressFormattedWith(Effect.succeed)
    yield* warn(settings)
    yield* Console.log(
      [
        `Agent Memory is ready at ${settings.baseUrl} (listening on ${address}).`,
        `Data is kept ${description}.`,
        ...firstSteps(settings, secret)
      ].join("\n")
    )
  })
)
