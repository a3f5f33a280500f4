import { Context, Effect, Layer } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Base64Url } from "effect/encoding"
import { makeToken, tokenBytes, type AccountId } from "../../domain/Account.ts"

/** Creates secrets, and the hashes that are stored for them. */
export class Tokens extends Context.Service<Tokens>()("agent-memory/server/accounts/Tokens", {
  make: Effect.gen(function* () {
    const random = yield* SecureRandom.SecureRandom
    const digest = yield* Digest.Digest
    const utf8 = new TextEncoder()
    const bytes = Effect.orDie(random.randomBytes(tokenBytes))
    return {
      /** A token that names its account: for a link, a browser session, an OAuth code or, with a prefix, an OAuth client. */
      make: (accountId: AccountId, prefix?: string) =>
        Effect.map(bytes, (bytes) => makeToken(accountId, bytes, prefix)),
      /** 256 random bits as 43 characters, for use before an account is known. */
      secret: Effect.map(bytes, Base64Url.encode),
      /** The SHA-256 of a text's UTF-8. */
      hash: (text: string) => Effect.orDie(digest.digest(Digest.sha256, utf8.encode(text)))
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
