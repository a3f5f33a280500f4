import { Config, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { readFileSync } from "node:fs"
import { AgentMemoryError } from "../client/AgentMemoryError.ts"
import type { OperationName, Sent } from "../client/ContractOperations.ts"
import { connectionOf, type Fetch } from "../client/Options.ts"
import { makeSend } from "../client/Send.ts"
import type { Usage } from "../client/AccountTypes.ts"
import * as Key from "../domain/Key.ts"
import { isLoopbackHost } from "../server/config/Settings.ts"
import { rootCause } from "./doctor/Finding.ts"
import { Stopped } from "./Formats.ts"

const keyVariable = "AGENT_MEMORY_API_KEY"

/** A flag that takes no value. */
export const switchFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** A flag that can be left out. `kind` says in the help what its value is. */
export const textFlag = (name: string, kind: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(kind), Flag.withDescription(description), Flag.optional)

/** The values of the flags that were not left out. */
export const given = (flags: Readonly<Record<string, Option.Option<string | number>>>) =>
  Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
  )

/** The service and the account. There is no flag for the key itself, because other users can see a command's arguments. */
const targetFlags = {
  url: Flag.String("url").pipe(
    Flag.withDescription("The service's URL; by default AGENT_MEMORY_URL"),
    Flag.withFallbackConfig(Config.String("AGENT_MEMORY_URL")),
    Flag.withDefault("http://localhost:3000")
  ),
  apiKeyFile: textFlag("api-key-file", "file", `A file with the API key; by default the key is ${keyVariable}`)
}

/** A service, and the key of an account. */
export interface Target {
  readonly url: URL
  readonly key: Redacted.Redacted
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
    () => new Stopped({ message: `There is no API key. Set ${keyVariable}, or pass a file with --api-key-file.` })
  )
})

/** The service and account of the flags. Fails for a mistyped key before anything is sent. */
const targetOf = Effect.fnUntraced(function* (flags: Command.Command.Config.Infer<typeof targetFlags>) {
  const url = URL.parse(flags.url)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return yield* new Stopped({ message: `--url is ${flags.url}: expected a URL like https://memory.example.com` })
  }
  const key = yield* readKey(flags.apiKeyFile)
  if (Option.isNone(Key.parse(Redacted.value(key)))) {
    return yield* new Stopped({ message: "The API key is mistyped or incomplete: its checksum is wrong." })
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    yield* Effect.logWarning(`The key is sent to ${url.origin} unencrypted. Use https.`)
  }
  return { url, key }
})

/** A command on an account over REST. It has `flags` beside those of the account. */
export const accountCommand = <const Name extends string, const Flags extends Command.Command.Config, E, R>(
  name: Name,
  command: {
    readonly description: string
    readonly examples?: ReadonlyArray<readonly [command: string, description: string]>
    readonly flags: Flags
    readonly run: (target: Target, flags: Command.Command.Config.Infer<Flags>) => Effect.Effect<void, E, R>
  }
) =>
  Command.make(name, { ...targetFlags, ...command.flags }, (values: unknown) => {
    const { apiKeyFile, url, ...others } = values as Command.Command.Config.Infer<typeof targetFlags>
    return Effect.flatMap(targetOf({ apiKeyFile, url }), (target) =>
      command.run(target, others as Command.Command.Config.Infer<Flags>)
    )
  }).pipe(
    Command.withDescription(command.description),
    Command.withExamples((command.examples ?? []).map(([command, description]) => ({ command, description })))
  )

const maxRetries = 4

const pieceBytes = 65_536

const counted = (bytes: Uint8Array, onSent: (bytes: number) => void) => {
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        onSent(at)
        if (at >= bytes.length) return controller.close()
        controller.enqueue(bytes.subarray(at, at + pieceBytes))
        at = Math.min(at + pieceBytes, bytes.length)
      }
    },
    { highWaterMark: 0 }
  )
}

/** The request, with a body that reports how much of it was sent. */
const reporting = (init: RequestInit, onSent: (bytes: number) => void): RequestInit => {
  const bytes = new TextEncoder().encode(init.body as string)
  const headers = { ...(init.headers as Record<string, string>), "content-length": String(bytes.length) }
  return { ...init, headers, body: counted(bytes, onSent), duplex: "half" }
}

/** The global `fetch`, which also reports sent bytes and that the service is busy. */
const reportingFetch = (onSent: ((bytes: number) => void) | undefined, onBusy: (text: string) => void): Fetch => {
  let tries = 0
  return async (url, init) => {
    const response = await fetch(url, onSent === undefined ? init : reporting(init, onSent))
    const wait = response.headers.get("retry-after") ?? "1"
    if (response.status === 429 || response.status === 503) {
      if (tries++ < maxRetries) onBusy(`The service is busy (${response.status}); trying again in ${wait} s.`)
    }
    return response
  }
}

/** Sends a call with the Promise client's transport, with its retries but without a timeout. */
export const send = Effect.fnUntraced(function* <A>(
  { key, url }: Target,
  operation: OperationName,
  sent: Sent,
  watch: { readonly onSent?: (bytes: number) => void; readonly read?: (response: Response) => Promise<A> } = {}
) {
  const context = yield* Effect.context<never>()
  const fetch = reportingFetch(watch.onSent, (text) => Effect.runForkWith(context)(Effect.logInfo(text)))
  return yield* Effect.tryPromise({
    try: (signal) => {
      const options = { baseUrl: url.href, maxRetries, timeout: Number.POSITIVE_INFINITY, fetch }
      return makeSend(connectionOf(options, Redacted.value(key)))<A>(operation, sent, { signal }, watch.read)
    },
    catch: (error) => new Stopped({ message: explain(error, url) })
  })
})

const explain = (error: unknown, { origin }: URL): string => {
  if (!(error instanceof AgentMemoryError)) return String(error)
  const { cause, code, detail, errors = [], hint, requestId } = error
  if (code === "network_error") {
    return `The service at ${origin} cannot be reached: ${rootCause(cause)}. Check --url, and that it is running.`
  }
  if (code === "invalid_response") return `The service at ${origin} is not Agent Memory. Check --url.`
  const lines = [
    `The service refused: ${detail} (${code})`,
    ...errors
      .filter(({ message }) => !detail.includes(message))
      .map(({ message, parameter = "", path = "" }) => `  ${parameter}${path} ${message}`),
    ...(hint === undefined ? [] : [hint]),
    ...(requestId === undefined ? [] : [`Request ${requestId}`])
  ]
  return lines.join("\n")
}

/** The account's usage and limits, read first so that a wrong key or URL fails before a large body is sent. */
export const usageOf = (target: Target) => send<Usage>(target, "tables.usage", {})
