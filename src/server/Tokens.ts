import { Context, Effect, Layer } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Base64Url } from "effect/encoding"
import type { AccountId } from "../domain/Account.ts"
import { makeToken, tokenBytes } from "../domain/Token.ts"

/** Makes secrets, and the hashes under which they are kept. */
export class Tokens extends Context.Service<
  Tokens,
  {
    /** A new token of the account: of a link, a browser session, a code or, with a prefix, a client of `/mcp`. */
    readonly make: (accountId: AccountId, prefix?: string) => Effect.Effect<string>
    /** 256 random bits as 43 characters, where no account is known yet. */
    readonly secret: Effect.Effect<string>
    /** SHA-256 of the text's UTF-8. */
    readonly hash: (text: string) => Effect.Effect<Uint8Array>
  }
>()("agent-memory/server/Tokens") {
  static readonly layer = Layer.effect(
    Tokens,
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const digest = yield* Digest.Digest
      const utf8 = new TextEncoder()
      const bytes = Effect.orDie(random.randomBytes(tokenBytes))
      return Tokens.of({
        make: (accountId, prefix) => Effect.map(bytes, (bytes) => makeToken(accountId, bytes, prefix)),
        secret: Effect.map(bytes, Base64Url.encode),
        hash: (text) => Effect.orDie(digest.digest(Digest.sha256, utf8.encode(text)))
      })
    })
  )
}
