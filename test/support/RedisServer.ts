import { createClient } from "@redis/client"
import { Config, Context, Effect, Layer, Option } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { freePort } from "./ServiceProcess.ts"

/** This machine can start a Redis server. */
export const hasRedisServer = spawnSync("redis-server", ["--version"]).status === 0

const connectOnce = async (url: string) => {
  const client = createClient({ url, RESP: 2, socket: { connectTimeout: 1000, reconnectStrategy: false } })
  client.on("error", () => undefined)
  await client.connect()
  return client
}

/** A command to a Redis server, over a connection of its own. */
export const command = (url: string, ...words: ReadonlyArray<string>) =>
  Effect.promise(async (): Promise<unknown> => {
    const client = await connectOnce(url)
    return client.sendCommand([...words]).finally(() => client.destroy())
  })

const runningUrl = Effect.gen(function* () {
  const url = yield* Effect.orDie(Config.option(Config.String("REDIS_URL")))
  const candidate = Option.getOrElse(url, () => "redis://127.0.0.1:6379")
  return yield* Effect.as(command(candidate, "PING"), candidate).pipe(
    Effect.asSome,
    Effect.catchCause(() => Effect.succeed(Option.none<string>()))
  )
})

/** A Redis server that runs already; looked for only where none can be started. */
const running = hasRedisServer ? Option.none<string>() : await Effect.runPromise(runningUrl)

/** Why a suite that needs any Redis is skipped, or undefined. */
export const noRedis =
  hasRedisServer || Option.isSome(running) ? undefined : "no redis-server to start and none at REDIS_URL or port 6379"

/** A Redis server of the test's own, empty at each start; ended at the end. */
export const startRedis = Effect.fnUntraced(function* (port: number, options: ReadonlyArray<string> = []) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        "redis-server",
        [
          "--port",
          String(port),
          "--bind",
          "127.0.0.1",
          "--save",
          "",
          "--appendonly",
          "no",
          "--dir",
          tmpdir(),
          ...options
        ],
        { stdio: ["ignore", "pipe", "ignore"] }
      )
    ),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  )
  let printed = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
  const ended = once(child, "exit")
  if (!(yield* waitUntil(() => printed.includes("Ready to accept connections"), 10_000))) {
    return yield* Effect.die(new Error(printed))
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    signal: (name: NodeJS.Signals) => Effect.sync(() => void child.kill(name)),
    kill: Effect.promise(() => {
      child.kill("SIGKILL")
      return ended
    })
  }
})

/** The Redis server of a suite: one of its own, or one that runs already. */
export class RedisServer extends Context.Service<RedisServer, { readonly url: string }>()(
  "agent-memory/test/support/RedisServer"
) {
  static readonly layer = Layer.effect(
    RedisServer,
    Option.match(running, {
      onNone: () => Effect.flatMap(freePort, (port) => startRedis(port)),
      onSome: (url) => Effect.succeed({ url })
    })
  )
}
