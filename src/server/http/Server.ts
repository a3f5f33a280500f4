import { NodeHttpServer } from "@effect/platform-node"
import { Console, Data, Effect, Layer } from "effect"
import type { HttpServerError } from "effect/http"
import { HttpServer } from "effect/http"
import { Settings } from "../Config.ts"
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
    const { host, port } = yield* Settings
    yield* DataPlace
    return NodeHttpServer.layer(makeNodeServer, { host, port, gracefulShutdownTimeout: "5 seconds" }).pipe(
      Layer.catchTag("ServeError", (error) => Layer.effectContext(Effect.fail(listenProblem(host, port, error))))
    )
  })
)

/** Tells the person who started the service where it is, where the data is, and what to type next. */
export const Greeting = Layer.effectDiscard(
  Effect.gen(function* () {
    const { baseUrl } = yield* Settings
    const { description } = yield* DataPlace
    const address = yield* HttpServer.addressFormattedWith(Effect.succeed)
    yield* Console.log(
      [
        `Agent Memory is ready at ${baseUrl} (listening on ${address}).`,
        `Data is kept ${description}.`,
        "Get an API key:",
        `  curl -X POST ${baseUrl}/auth/magic-link -H 'Content-Type: application/json' -d '{"email":"you@example.com"}'`
      ].join("\n")
    )
  })
)
