import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { timingSafeEqual } from "effect/crypto/Mac"
import { Base64Url } from "effect/encoding"
import { Settings } from "../Config.ts"
import { DataPlace } from "../sql/Database.ts"
import { keepLocalSecret } from "./LocalSecretFile.ts"

const secretBytes = 32
const utf8 = new TextEncoder()

const fresh = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom
  return `svc_local_${Base64Url.encode(yield* Effect.orDie(random.randomBytes(secretBytes)))}`
})

const serviceOf = (secret: Option.Option<string>): LocalSecret["Service"] => {
  const expected = Option.map(secret, (secret) => utf8.encode(secret))
  return {
    value: Option.map(secret, (secret) => Redacted.make(secret, { label: "local-secret" })),
    matches: (text) =>
      text !== undefined && Option.isSome(expected) && timingSafeEqual(expected.value, utf8.encode(text))
  }
}

/**
 * The start secret of a service in local mode. Whoever has it is the person who started the service: a loopback address
 * alone says little, as proxies and tunnels on this machine, and its other users, come from there too.
 */
export class LocalSecret extends Context.Service<
  LocalSecret,
  {
    /** None where the service is not in local mode. */
    readonly value: Option.Option<Redacted.Redacted>
    /** Whether a text is the secret, told in constant time. Nothing is where there is none. */
    readonly matches: (text: string | undefined) => boolean
  }
>()("agent-memory/server/accounts/LocalSecret") {
  private static readonly layerOf = <E, R>(make: Effect.Effect<string, E, R>) =>
    Layer.effect(
      LocalSecret,
      Effect.gen(function* () {
        const { localMode } = yield* Settings
        return LocalSecret.of(serviceOf(localMode ? Option.some(yield* make) : Option.none()))
      })
    )

  /** The secret that `DATA_DIR` keeps over restarts. It is made by the first start whose database can be used. */
  static readonly layer = LocalSecret.layerOf(
    Effect.gen(function* () {
      yield* DataPlace
      const { dataDir } = yield* Settings
      return yield* keepLocalSecret(dataDir, yield* fresh)
    })
  )

  /** A secret that is kept nowhere, for tests. */
  static readonly layerMemory = LocalSecret.layerOf(fresh)
}
