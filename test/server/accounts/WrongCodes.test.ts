import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Email } from "../../../src/domain/Account.ts"
import { BrowserSignIns } from "../../../src/server/accounts/BrowserSignIns.ts"
import { setClock } from "../../support/Database.ts"
import { begin, byCode, byLink, newEmail, refusal, returnTo, SignInLayer, wrong } from "./SigningIn.ts"

/** Begins a sign-in whatever the limit of mails says, and types wrong codes into it. */
const mistype = Effect.fnUntraced(function* (address: Email, times: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM sign_in_buckets WHERE bucket LIKE 'link:%'`
  const begun = yield* begin(address)
  const reasons: Array<string> = []
  for (let n = 1; n <= times; n++) reasons.push(yield* refusal(byCode(begun.browser, wrong(begun.code, n))))
  return { ...begun, reasons }
})

const isLinkOnly = Effect.fnUntraced(function* (browser: string) {
  return Option.getOrThrow(yield* (yield* BrowserSignIns).find(browser)).isLinkOnly
})

layer(SignInLayer, { excludeTestServices: true, timeout: "30 seconds" })("Wrong codes", (it) => {
  it.effect("of an address are counted over its sign-ins: after 20 a day its codes are looked at no more", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const address = newEmail()
      for (let round = 0; round < 4; round++) {
        assert.deepStrictEqual((yield* mistype(address, 5)).reasons, ["wrong", "wrong", "wrong", "wrong", "expired"])
      }
      const { browser, code, token } = yield* mistype(address, 0)
      assert.isTrue(yield* isLinkOnly(browser))
      assert.strictEqual(yield* refusal(byCode(browser, wrong(code))), "link only")
      assert.strictEqual(yield* refusal(byCode(browser, code)), "link only")
      assert.deepStrictEqual((yield* byLink(token, browser)).returnTo, Option.some(returnTo))
    })
  )

  it.effect("of an address are forgotten evenly over a day, and are nothing to another address", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const address = newEmail()
      for (let round = 0; round < 4; round++) yield* mistype(address, 5)
      const other = yield* mistype(newEmail(), 0)
      assert.isFalse(yield* isLinkOnly(other.browser))
      yield* byCode(other.browser, other.code)
      yield* setClock("73 minutes")
      assert.deepStrictEqual((yield* mistype(address, 2)).reasons, ["wrong", "link only"])
      yield* setClock("30 hours")
      const { browser, code } = yield* mistype(address, 4)
      yield* byCode(browser, code)
      yield* setClock("0 seconds")
    })
  )

  it.effect("that come at once are no more than one after another, and right ones count for nothing", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const address = newEmail()
      for (let round = 0; round < 25; round++) {
        const { browser, code } = yield* mistype(address, 0)
        yield* byCode(browser, code)
      }
      for (let round = 0; round < 3; round++) yield* mistype(address, 5)
      const { browser, code } = yield* mistype(address, 3)
      const reasons = yield* Effect.all(
        [4, 5, 6, 7, 8, 9].map((step) => refusal(byCode(browser, wrong(code, step)))),
        { concurrency: "unbounded" }
      )
      assert.sameMembers(reasons, ["wrong", "expired", "link only", "link only", "link only", "link only"])
    })
  )
})
