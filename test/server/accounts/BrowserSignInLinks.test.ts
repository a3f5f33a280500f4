import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { BrowserSignIns } from "../../../src/server/accounts/BrowserSignIns.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { begin, byCode, byLink, newEmail, newIp, refusal, returnTo, SignInLayer, verify } from "./SigningIn.ts"

layer(SignInLayer, { excludeTestServices: true, timeout: "30 seconds" })("Links of sign-ins in a browser", (it) => {
  it.effect("tell where they lead to the browser that asked, and to no other", () =>
    Effect.gen(function* () {
      const signIns = yield* BrowserSignIns
      const asked = yield* begin()
      const stranger = yield* begin()
      const foreign = yield* begin()
      assert.deepStrictEqual((yield* byLink(asked.token, asked.browser)).returnTo, Option.some(returnTo))
      for (const browser of [stranger.browser, undefined]) {
        const shown = Option.getOrThrow(yield* signIns.findLink({ token: foreign.token, browser }))
        assert.isFalse(shown.isAsking)
      }
      assert.isTrue(Option.isNone((yield* byLink(foreign.token, stranger.browser)).returnTo))
      const unknown = yield* begin()
      assert.isTrue(Option.isNone((yield* byLink(unknown.token)).returnTo))
    })
  )

  it.effect("never sign in the browser that asked when they are opened elsewhere", () =>
    Effect.gen(function* () {
      const { browser, code, token } = yield* begin()
      yield* byLink(token)
      assert.strictEqual(yield* refusal(byCode(browser, code)), "expired")
    })
  )

  it.effect("are none of those that were asked for outside a browser", () =>
    Effect.gen(function* () {
      const { token } = yield* (yield* SignInLinks).send({ email: newEmail(), ip: newIp() })
      assert.isTrue(Option.isNone(yield* (yield* BrowserSignIns).findLink({ token, browser: undefined })))
      assert.strictEqual((yield* Effect.flip(byLink(token)))._tag, "InvalidToken")
      yield* verify(token)
    })
  )

  it.effect("give no key, which would outlive the session, and are not spent by who asks for one", () =>
    Effect.gen(function* () {
      const { browser, code, token } = yield* begin()
      assert.strictEqual((yield* Effect.flip(verify(token)))._tag, "InvalidToken")
      assert.isTrue(Option.isNone(yield* (yield* SignInLinks).find(token)))
      const { session } = yield* byCode(browser, code)
      assert.lengthOf(yield* (yield* Keys).list(wholeAccount(session.accountId)), 0)
    })
  )
})
