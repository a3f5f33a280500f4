import { assert, layer } from "@effect/vitest"
import { Array, Effect, Option, Result } from "effect"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { BrowserSignIns } from "../../../src/server/accounts/BrowserSignIns.ts"
import { Sessions } from "../../../src/server/accounts/browser/Sessions.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { setClock } from "../../support/Database.ts"
import { begin, byCode, byLink, newEmail, newIp, refusal, returnTo, SignInLayer, verify, wrong } from "./SigningIn.ts"

const triesLeft = Effect.fnUntraced(function* (browser: string) {
  const found = yield* (yield* BrowserSignIns).find(browser)
  return Option.getOrThrow(found).triesLeft
})

layer(SignInLayer, { excludeTestServices: true, timeout: "30 seconds" })("Sign-ins in a browser", (it) => {
  it.effect("mail a link and six digits, with the warning to give them to nobody", () =>
    Effect.gen(function* () {
      const address = newEmail()
      const { browser, code, token } = yield* begin(address)
      const mail = yield* (yield* Outbox).next
      assert.strictEqual(mail.to, address)
      assert.match(code, /^[0-9]{6}$/)
      for (const text of [mail.text, mail.html ?? ""]) {
        assert.include(text, `http://localhost:4321/sign-in?token=${token}`)
        assert.match(text, new RegExp(`\\b${code}\\b`))
        assert.include(text, "Type the code only into the page that you opened yourself at localhost:4321")
        assert.include(text, "anyone who has it can sign in as you")
        assert.notInclude(text, "API key")
        assert.notInclude(text, browser)
      }
    })
  )

  it.effect("draw codes evenly from all of six digits, leading zeros kept", () =>
    Effect.gen(function* () {
      const codes = yield* Effect.forEach(Array.range(1, 60), () => Effect.map(begin(), ({ code }) => code))
      for (const code of codes) assert.match(code, /^[0-9]{6}$/)
      assert.isAbove(new Set(codes).size, 55)
      // Each first digit is missing among 60 uniform codes once in 550 times, so five of them never.
      assert.isAbove(new Set(codes.map((code) => code[0])).size, 5)
    })
  )

  it.effect("sign in by the code, make the account once, and lead back", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const sql = yield* SqlClient.SqlClient
      const address = newEmail()
      const first = yield* begin(address)
      assert.lengthOf(yield* sql`SELECT FROM account_emails WHERE email = ${address}`, 0)
      const signedIn = yield* byCode(first.browser, first.code)
      assert.strictEqual(signedIn.returnTo, returnTo)
      assert.strictEqual(signedIn.session.email, address)
      const found = yield* (yield* Sessions).find(signedIn.session.token)
      assert.deepInclude(Option.getOrThrow(found), signedIn.session)
      const second = yield* begin(address)
      assert.strictEqual((yield* byCode(second.browser, second.code)).session.accountId, signedIn.session.accountId)
      // Whoever comes for a key later is the same person.
      const key = yield* verify((yield* (yield* SignInLinks).send({ email: address, ip: newIp() })).token)
      assert.strictEqual(key.account_id, signedIn.session.accountId)
    })
  )

  it.effect("make no API key", () =>
    Effect.gen(function* () {
      const coded = yield* begin()
      const linked = yield* begin()
      const sessions = [
        (yield* byCode(coded.browser, coded.code)).session,
        (yield* byLink(linked.token, linked.browser)).session
      ]
      for (const { accountId } of sessions) assert.lengthOf(yield* (yield* Keys).list(wholeAccount(accountId)), 0)
    })
  )

  it.effect("take the code in groups, with dashes, pasted with white space, and in wide digits", () =>
    Effect.gen(function* () {
      const spellings = [
        (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`,
        (code: string) => `${code.slice(0, 3)}-${code.slice(3)}`,
        (code: string) => ` \t${code.slice(0, 2)}\u2013${code.slice(2, 4)}\u00a0${code.slice(4)}\r\n`,
        (code: string) => `\u200b${code}\ufeff`,
        (code: string) => code.replaceAll(/\d/g, (digit) => String.fromCodePoint(digit.codePointAt(0)! - 0x30 + 0xff10))
      ]
      for (const spell of spellings) {
        const { browser, code } = yield* begin()
        yield* byCode(browser, spell(code))
      }
    })
  )

  it.effect("count no try for what is no code", () =>
    Effect.gen(function* () {
      const { browser, code } = yield* begin()
      const typed = ["", "12345", "1234567", "12345a", `${code}1`, "½½½½½½", "\0", "9".repeat(100_000)]
      for (const text of typed) assert.strictEqual(yield* refusal(byCode(browser, text)), "malformed")
      assert.strictEqual(yield* triesLeft(browser), 5)
      yield* byCode(browser, code)
    })
  )

  it.effect("P29b die after 5 wrong codes, the link too", () =>
    Effect.gen(function* () {
      const { browser, code, token } = yield* begin()
      for (const left of [4, 3, 2, 1]) {
        assert.strictEqual(yield* refusal(byCode(browser, wrong(code, left))), "wrong")
        assert.strictEqual(yield* triesLeft(browser), left)
      }
      assert.strictEqual(yield* refusal(byCode(browser, wrong(code))), "expired")
      assert.strictEqual(yield* refusal(byCode(browser, code)), "expired")
      assert.isTrue(Option.getOrThrow(yield* (yield* BrowserSignIns).find(browser)).isExpired)
      assert.strictEqual((yield* Effect.flip(byLink(token, browser)))._tag, "InvalidToken")
      assert.strictEqual((yield* Effect.flip(verify(token)))._tag, "InvalidToken")
    })
  )

  it.effect("work with the right code as the fifth try", () =>
    Effect.gen(function* () {
      const { browser, code } = yield* begin()
      for (const step of [1, 2, 3, 4]) yield* Effect.flip(byCode(browser, wrong(code, step)))
      assert.strictEqual((yield* byCode(browser, code)).returnTo, returnTo)
    })
  )

  it.effect("look at 5 of 20 wrong codes that come at once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { browser, code } = yield* begin()
      const reasons = yield* Effect.all(
        Array.makeBy(20, (step) => refusal(byCode(browser, wrong(code, step + 1)))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        reasons.filter((reason) => reason === "wrong"),
        4
      )
      assert.lengthOf(
        reasons.filter((reason) => reason === "expired"),
        16
      )
      const kept = yield* sql`SELECT wrong_codes FROM magic_links WHERE used_at IS NOT NULL AND wrong_codes > 5`
      assert.deepStrictEqual(kept, [])
      assert.strictEqual(yield* refusal(byCode(browser, code)), "expired")
    })
  )

  it.effect("let one of 20 parallel right codes win", () =>
    Effect.gen(function* () {
      const { browser, code } = yield* begin()
      const results = yield* Effect.all(
        Array.makeBy(20, () => Effect.result(byCode(browser, code))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(results.filter(Result.isSuccess), 1)
    })
  )

  it.effect("let one of a code and its link win when both come at once", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 5; round++) {
        const { browser, code, token } = yield* begin()
        const won = yield* Effect.all(
          [Effect.isSuccess(byCode(browser, code)), Effect.isSuccess(byLink(token)), Effect.isSuccess(verify(token))],
          { concurrency: "unbounded" }
        )
        assert.lengthOf(won.filter(Boolean), 1)
      }
    })
  )

  it.effect("know the code only with the secret of the browser that asked", () =>
    Effect.gen(function* () {
      const mine = yield* begin()
      const other = yield* begin()
      if (mine.code !== other.code) {
        assert.strictEqual(yield* refusal(byCode(other.browser, mine.code)), "wrong")
      }
      for (const browser of ["", "unknown", mine.token, "\0"]) {
        assert.strictEqual(yield* refusal(byCode(browser, mine.code)), "expired")
      }
      yield* byCode(mine.browser, mine.code)
    })
  )

  it.effect("keep a request of the same browser apart from the one before, whose code it refuses", () =>
    Effect.gen(function* () {
      const address = newEmail()
      const earlier = yield* begin(address)
      const later = yield* begin(address)
      assert.notStrictEqual(later.browser, earlier.browser)
      if (earlier.code !== later.code) {
        assert.strictEqual(yield* refusal(byCode(later.browser, earlier.code)), "wrong")
      }
      yield* byCode(later.browser, later.code)
    })
  )

  it.effect("are valid until just before they expire, and looking at them spends nothing", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const signIns = yield* BrowserSignIns
      const address = newEmail()
      const { browser, code, expires_at, token } = yield* begin(address)
      const { browser: late, code: lateCode, token: lateToken } = yield* begin()
      yield* setClock("9 minutes 55 seconds")
      for (let times = 0; times < 5; times++) {
        assert.deepStrictEqual(
          yield* signIns.find(browser),
          Option.some({
            email: address,
            returnTo,
            expiresAt: new Date(expires_at),
            isExpired: false,
            isReplaced: false,
            isLinkOnly: false,
            triesLeft: 5
          })
        )
        assert.deepStrictEqual(
          yield* signIns.findLink({ token, browser }),
          Option.some({ email: address, isAsking: true })
        )
      }
      yield* byCode(browser, code)
      yield* setClock("10 minutes 1 second")
      assert.strictEqual(yield* refusal(byCode(late, lateCode)), "expired")
      assert.isTrue(Option.getOrThrow(yield* signIns.find(late)).isExpired)
      assert.isTrue(Option.isNone(yield* signIns.findLink({ token: lateToken, browser: late })))
      assert.strictEqual((yield* Effect.flip(byLink(lateToken, late)))._tag, "InvalidToken")
      yield* setClock("0 seconds")
    })
  )

  it.effect("are kept as hashes only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { browser, code, token } = yield* begin()
      const rows = yield* sql<{ readonly text: string; readonly code_hash: Uint8Array | null }>`
        SELECT m::text AS text, code_hash FROM magic_links m WHERE browser_hash IS NOT NULL
      `
      assert.isAbove(rows.length, 0)
      for (const { text } of rows) {
        for (const secret of [browser, token]) {
          assert.notInclude(text, secret)
          assert.notInclude(text, Hex.encode(secret))
        }
        assert.notMatch(text, new RegExp(`\\b${code}\\b`))
      }
      // Six digits alone could be found from their hash by trying all of them.
      const alone = new Uint8Array(yield* Effect.promise(() => crypto.subtle.digest("SHA-256", Buffer.from(code))))
      for (const { code_hash } of rows) assert.notDeepEqual(Buffer.from(code_hash!), Buffer.from(alone))
    })
  )

  it.effect("share the limit of mails to an address with links for keys", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const accounts = yield* SignInLinks
      const address = newEmail()
      for (let times = 0; times < 2; times++) yield* begin(address)
      for (let times = 0; times < 3; times++) yield* accounts.send({ email: address, ip: newIp() })
      assert.deepInclude(yield* Effect.flip(begin(address)), { code: "rate_limited", limit: 5, retry_after: 720 })
    })
  )

  it.effect("try at most 60 codes and links an hour for a client", () =>
    Effect.gen(function* () {
      const signIns = yield* BrowserSignIns
      const ip = newIp()
      const tagOf = Effect.map((error: { readonly _tag: string }) => error._tag)
      const tags = yield* Effect.all(
        Array.makeBy(70, (n) =>
          n % 2 === 0
            ? tagOf(Effect.flip(signIns.byCode({ browser: "x", code: "123456", ip })))
            : tagOf(Effect.flip(signIns.byLink({ token: "x", browser: undefined, ip })))
        ),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        tags.filter((tag) => tag === "RateLimited"),
        10
      )
    })
  )
})
