import { Config, Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import { readFileSync } from "node:fs"
import * as Key from "../domain/Key.ts"
import type { Usage } from "../domain/Usage.ts"
import { isLoopbackHost } from "../server/Config.ts"
import { refusal, send, type Target } from "./Rest.ts"
import { Stopped } from "./Stopped.ts"

const keyVariable = "AGENT_MEMORY_API_KEY"

/** Which service, and which account of it. There is no flag for the key itself: other users see a command's arguments. */
export const targetFlags = {
  url: Flag.String("url").pipe(
    Flag.withDescription("The service's address; AGENT_MEMORY_URL where it is not said"),
    Flag.withFallbackConfig(Config.String("AGENT_MEMORY_URL")),
    Flag.withDefault("http://localhost:3000")
  ),
  apiKeyFile: Flag.String("api-key-file").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription(`A file that holds the API key; without it, the key is taken from ${keyVariable}`),
    Flag.optional
  )
}

const readKey = Effect.fnUntraced(function* (file: Option.Option<string>) {
  if (Option.isSome(file)) {
    return yield* Effect.try({
      try: () => Redacted.make(readFileSync(file.value, "utf8").trim()),
      catch: (error) => new Stopped({ message: `The key cannot be read: ${(error as Error).message}` })
    })
  }
  const key = yield* Effect.orDie(Config.option(Config.Redacted(keyVariable)))
  return yield* Effect.mapError(
    Effect.fromOption(key),
    () => new Stopped({ message: `There is no API key. Set ${keyVariable}, or name a file with --api-key-file.` })
  )
})

/** The service and account that the flags name; a key that cannot be one is told before anything is sent. */
export const targetOf = Effect.fnUntraced(function* (flags: {
  readonly url: string
  readonly apiKeyFile: Option.Option<string>
}) {
  const url = URL.parse(flags.url)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return yield* new Stopped({ message: `--url is ${flags.url}: expected an address like https://memory.example.com` })
  }
  const key = yield* readKey(flags.apiKeyFile)
  if (Option.isNone(Key.parse(Redacted.value(key)))) {
    return yield* new Stopped({ message: "The API key is mistyped or cut off: its check characters do not fit." })
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    yield* Effect.logWarning(`The key travels readable for everybody on the way to ${url.origin}. Use https.`)
  }
  const target: Target = { url, key }
  return target
})

/** What the account holds and may hold; so a wrong key or address is told before a large body is on its way. */
export const usageOf = Effect.fnUntraced(function* (target: Target) {
  const reply = yield* send(target, { method: "GET", path: "/v1/_usage" })
  if (reply.status !== 200) return yield* refusal(reply)
  return yield* Effect.try({
    try: () => JSON.parse(reply.body.toString()) as Usage,
    catch: () => new Stopped({ message: `What answers at ${target.url.origin} is not Agent Memory. Check --url.` })
  })
})
