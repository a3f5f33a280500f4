import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../src/server/mail/Mailer.ts"
import { assertProblem, jsonOf, raw, wire, type WireAnswer } from "../server/wire/Wire.ts"
import { DatabaseUrl, poolOf } from "../support/Database.ts"
import { BaseUrl, localHeaders, serviceLayer, serviceOn } from "../support/TestService.ts"

const origin = "https://memory.example.com"
/** A public service: links are only mailed, and any host may be named. */
const publicly = { BASE_URL: origin, SMTP_URL: "smtp://127.0.0.1:1" }

const ask = (email: string, headers: Record<string, string> = {}) =>
  wire("POST", "/auth/magic-link", { body: JSON.stringify({ email }), headers })

const verify = (token: string) => wire("POST", "/auth/verify", { body: JSON.stringify({ token }) })

/** Asks for a link and gives its token as it was mailed. */
const mailedToken = Effect.fnUntraced(function* (email: string) {
  const answer = yield* ask(email)
  assert.strictEqual(answer.status, 200, answer.text)
  const { text } = yield* (yield* Outbox).next
  return /token=([\w-]+)/.exec(text)![1]!
})

const keysOf = Effect.fnUntraced(function* (key: string) {
  return jsonOf<{ keys: ReadonlyArray<{ name: string }> }>(yield* wire("GET", "/v1/_keys", { key })).keys
})

layer(serviceLayer(publicly), { excludeTestServices: true })("Sign-ins that other services got wrong:", (it) => {
  // https://github.com/nextauthjs/next-auth/issues/8737, https://github.com/better-auth/better-auth/issues/9690
  it.effect("C31 P27 spends no link that a mail scanner opens, and gives it neither key nor cookie", () =>
    Effect.gen(function* () {
      const token = yield* mailedToken("scanned@example.com")
      const url = `/sign-in?token=${token}`
      const scans: ReadonlyArray<readonly [method: string, headers: Record<string, string>]> = [
        ["HEAD", { "user-agent": "Mozilla/5.0 (compatible; Link Scanner)" }],
        ["GET", { "user-agent": "curl/8" }],
        ["GET", { purpose: "prefetch", "sec-purpose": "prefetch;prerender", "x-moz": "prefetch" }],
        ["GET", { accept: "application/json" }],
        ["OPTIONS", {}],
        ["GET", { range: "bytes=0-10" }]
      ]
      for (const [method, headers] of [...scans, ...scans]) {
        const page = yield* wire(method, url, { headers })
        assert.strictEqual(page.status, method === "OPTIONS" ? 204 : 200)
        assert.isUndefined(page.headers["set-cookie"])
        assert.isUndefined(page.headers["location"])
        assert.notInclude(page.text, "svc_live_")
        // Scanners run scripts too: the page's own only copy, and none stands in the page itself.
        assert.notMatch(page.text, /<script(?![^>]* src="\/assets\/site-)/i)
        assert.notMatch(page.text, /http-equiv="?refresh|onload=|autofocus.*submit/i)
      }
      const verified = yield* verify(token)
      assert.strictEqual(verified.status, 200)
      assert.lengthOf(yield* keysOf(String(jsonOf(verified)["api_key"])), 1)
      assertProblem(yield* verify(token), 401, "invalid_token")
    })
  )

  // https://github.com/better-auth/better-auth/pull/9572
  it.effect("C32 P27 gives one key for a token that is verified 20 times at once through two instances", () =>
    Effect.gen(function* () {
      const here = yield* BaseUrl
      const { url } = yield* DatabaseUrl
      const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
      const other = yield* Layer.build(Layer.fresh(serviceOn(Layer.fresh(pool), publicly)))
      for (const doors of [["/auth/verify"], ["/auth/verify", "/sign-in"]]) {
        const token = yield* mailedToken("raced@example.com")
        const answers: ReadonlyArray<WireAnswer> = yield* Effect.all(
          Array.from({ length: 20 }, (_, n) => {
            const door = doors[n % doors.length]!
            const attempt =
              door === "/sign-in"
                ? wire("POST", door, {
                    body: `token=${token}`,
                    headers: { "content-type": "application/x-www-form-urlencoded" }
                  })
                : verify(token)
            return Effect.provideService(attempt, BaseUrl, n % 4 < 2 ? here : Context.get(other, BaseUrl))
          }),
          { concurrency: "unbounded" }
        )
        const won = answers.filter(({ status }) => status === 200)
        assert.lengthOf(won, 1)
        assert.lengthOf(
          answers.filter(({ status }) => status === 401),
          19
        )
        const key = /svc_live_\w+/.exec(won[0]!.text)![0]
        assert.lengthOf(yield* keysOf(key), doors.length)
      }
    })
  )

  // https://github.com/nodemailer/nodemailer/issues/1766
  it.effect("C35 P29 mails to exactly the address that the account is keyed by, or refuses", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const before = (yield* outbox.sent).length
      const refused: ReadonlyArray<unknown> = [
        '"x@evil.test y"@good.test',
        '"a"@good.test',
        "a@good.test,b@evil.test",
        "a@good.test;b@evil.test",
        "a@good.test b@evil.test",
        "a@good.test(c)evil.test",
        "a(c)@good.test",
        "A <a@evil.test>",
        "<a@good.test>",
        "@evil.test:a@good.test",
        "a@good.test\r\nBcc: b@evil.test",
        "a\nb@good.test",
        "a\tb@good.test",
        "a\0@good.test",
        "a@good.test\0.evil.test",
        "a@[127.0.0.1]",
        "a@[IPv6:::1]",
        "a@good.test%0a",
        "a@good.test.",
        "ａ@good.test",
        "a@ｇood.test",
        "а@good.test",
        "a@good。test",
        "a@good.test\u00ad",
        "a@b@good.test",
        "a\\@evil.test@good.test",
        "undisclosed:a@good.test;",
        ["a@good.test"],
        { address: "a@good.test" },
        null,
        1
      ]
      for (const email of refused) {
        const answer = yield* wire("POST", "/auth/magic-link", { body: JSON.stringify({ email }) })
        assertProblem(answer, 400, "invalid_request")
        assert.notInclude(answer.text, "evil.test")
      }
      assert.strictEqual((yield* outbox.sent).length, before)

      const accounts = new Set<unknown>()
      for (const email of [" a@good.test ", "A@GOOD.TEST", "a@good.test\n"]) {
        yield* ask(email)
        const mail = yield* outbox.next
        assert.strictEqual(mail.to, "a@good.test")
        const verified = yield* verify(/token=([\w-]+)/.exec(mail.text)![1]!)
        accounts.add(jsonOf(verified)["account_id"])
      }
      assert.strictEqual(accounts.size, 1)
      assert.strictEqual((yield* outbox.sent).length, before + 3)
    })
  )

  // https://github.com/sahat/hackathon-starter/issues/1326
  it.effect("C37 P30 builds every address from its own origin, whatever host the request names", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const named: ReadonlyArray<Record<string, string>> = [
        { host: "evil.test" },
        { host: "evil.test:443" },
        { "x-forwarded-host": "evil.test", "x-forwarded-proto": "http", "x-forwarded-port": "81" },
        { forwarded: "host=evil.test;proto=http" },
        { "x-original-url": "http://evil.test/", "x-host": "evil.test", "x-forwarded-server": "evil.test" },
        { origin: "https://evil.test", referer: "https://evil.test/" },
        { host: `memory.example.com@evil.test` }
      ]
      for (const [index, headers] of named.entries()) {
        const answer = yield* ask(`host${index}@example.com`, headers)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.deepStrictEqual(Object.keys(jsonOf(answer)).toSorted(), ["expires_at", "ok"])
        const { html = "", text } = yield* outbox.next
        const token = /token=([\w-]+)/.exec(text)![1]!
        for (const part of [text, html]) {
          assert.include(part, `${origin}/sign-in?token=${token}`)
          assert.notInclude(part, "evil")
        }
        const page = yield* wire("GET", `/sign-in?token=${token}`, { headers })
        const used = yield* wire("POST", "/sign-in", {
          body: `token=${token}`,
          headers: { ...headers, "content-type": "application/x-www-form-urlencoded" }
        })
        const answers = [
          page,
          used,
          yield* wire("GET", "/openapi.json", { headers }),
          yield* wire("GET", "/nowhere", { headers })
        ]
        for (const one of answers) {
          assert.notInclude(one.text + JSON.stringify(one.headers), "evil")
        }
        assert.include(used.text, origin)
      }
    })
  )

  it.effect("C37 P30 builds every address from its own origin for a request in absolute form", () =>
    Effect.gen(function* () {
      const body = '{"email":"absolute@example.com"}'
      const head = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
      const sent = (yield* (yield* Outbox).sent).length
      const answer = yield* raw(`POST http://evil.test/auth/magic-link HTTP/1.1\r\nHost: evil.test\r\n${head}${body}`)
      assert.match(answer, /^HTTP\/1\.1 (200|400|404|421) /)
      assert.notInclude(answer, "evil.test")
      if (answer.startsWith("HTTP/1.1 200")) {
        const { text } = yield* (yield* Outbox).next
        assert.include(text, `${origin}/sign-in?token=`)
        assert.notInclude(text, "evil.test")
      } else assert.strictEqual((yield* (yield* Outbox).sent).length, sent)
    })
  )
})

layer(serviceLayer({ BASE_URL: "http://localhost:4321" }), { excludeTestServices: true })((it) => {
  it.effect("C37 answers no foreign host in local mode, and shows no link to forwarded requests", () =>
    Effect.gen(function* () {
      for (const host of [
        "evil.test",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "evil.test:4321",
        "localhost@evil.test",
        "10.0.0.1"
      ]) {
        assertProblem(yield* ask("local@example.com", { host }), 421, "misdirected_request")
      }
      assert.lengthOf(yield* (yield* Outbox).sent, 0)
      const forwarded: ReadonlyArray<Record<string, string>> = [
        { "x-forwarded-host": "evil.test" },
        { forwarded: "host=evil.test" },
        { "x-forwarded-for": "203.0.113.1" }
      ]
      for (const [index, headers] of forwarded.entries()) {
        const answer = yield* ask(`local${index}@example.com`, headers)
        assert.notInclude(answer.text, "token=")
        assert.include((yield* (yield* Outbox).next).text, "http://localhost:4321/sign-in?token=")
      }
      assert.include(
        (yield* ask("local9@example.com", yield* localHeaders)).text,
        '"dev_magic_link":"http://localhost:4321/sign-in?token='
      )
    })
  )
})
