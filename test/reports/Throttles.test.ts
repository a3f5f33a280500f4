import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Outbox } from "../../src/server/mail/Mailer.ts"
import { assertProblem, jsonOf, wire, type WireAnswer } from "../server/wire/Wire.ts"
import { serviceLayer } from "../support/TestService.ts"

const publicly = { BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }

const ask = (email: string, headers: Record<string, string> = {}) =>
  wire("POST", "/auth/magic-link", { body: JSON.stringify({ email }), headers })

const signIn = Effect.fnUntraced(function* (email: string) {
  yield* ask(email)
  const { text } = yield* (yield* Outbox).next
  const token = /token=([\w-]+)/.exec(text)![1]!
  const verified = yield* wire("POST", "/auth/verify", { body: JSON.stringify({ token }) })
  assert.strictEqual(verified.status, 200)
})

/** What an answer tells, but for what differs between any two answers. */
const told = ({ headers, status, text }: WireAnswer) => {
  const body = jsonOf(text.startsWith("{") ? { text } : { text: "{}" })
  const hidden = new Set(["expires_at", "request_id", "retry_after"])
  const shown = Object.entries(body).map(([name, value]) => [name, hidden.has(name) ? typeof value : value])
  return { status, body: Object.fromEntries(shown), headers: Object.keys(headers).toSorted() }
}

const median = (numbers: ReadonlyArray<number>) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!

layer(serviceLayer(publicly), { excludeTestServices: true })("What a request for a link tells:", (it) => {
  // https://github.com/supabase/auth/issues/1547
  it.effect("C34 P28 answers alike for known, unknown and never verified addresses, also beyond the limit", () =>
    Effect.gen(function* () {
      yield* signIn("known@example.com")
      yield* ask("never@example.com")
      const others = Array.from({ length: 3 }, () => ["known", "unknown", "never"] as const).flat()
      const allowed = yield* Effect.forEach(others, (name) => ask(`${name}@example.com`))
      for (const answer of allowed) assert.deepStrictEqual(told(answer), told(allowed[0]!))
      assert.strictEqual(allowed[0]!.status, 200)

      for (const name of ["known", "unknown", "never"]) {
        for (let times = 0; times < 10; times++) yield* ask(`${name}@example.com`)
      }
      const refused = yield* Effect.forEach(others, (name) => ask(`${name}@example.com`))
      for (const answer of refused) assert.deepStrictEqual(told(answer), told(refused[0]!))
      assertProblem(refused[0]!, 429, "rate_limited")

      const mails = (yield* (yield* Outbox).sent).map(({ to }) => to)
      for (const name of ["known", "unknown", "never"]) {
        assert.isAtMost(mails.filter((to) => to === `${name}@example.com`).length, 5)
      }
    })
  )

  it.effect("C34 P28 answers alike for the longest address, and names no account when it refuses a longer one", () =>
    Effect.gen(function* () {
      const longest = `${"a".repeat(64)}@${`${"b".repeat(61)}.`.repeat(3)}${"c".repeat(3)}`
      assert.lengthOf(longest, 254)
      assert.deepStrictEqual(told(yield* ask(longest)), told(yield* ask("short@example.com")))
      const longer = yield* ask(`${longest}c`)
      assertProblem(longer, 400, "invalid_request")
      assert.notInclude(longer.text, "@")
    })
  )
})

layer(serviceLayer({ ...publicly, LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: "1000" }), { excludeTestServices: true })(
  (it) => {
    it.effect("C34 P28 takes as long for an address with an account as for one without", () =>
      Effect.gen(function* () {
        yield* signIn("known@example.com")
        const times = { known: [] as Array<number>, unknown: [] as Array<number> }
        for (let round = 0; round < 50; round++) {
          for (const name of ["known", "unknown"] as const) {
            const [took, value] = yield* Effect.timed(ask(`${name}@example.com`))
            assert.strictEqual(value.status, 200)
            times[name].push(Duration.toMillis(took))
          }
        }
        const [known, unknown] = [median(times.known), median(times.unknown)]
        // A mail that is sent before the answer would take one of them far beyond this.
        assert.isBelow(Math.max(known, unknown), 2 * Math.min(known, unknown) + 2)
      })
    )
  }
)

const asks = (count: number, headersOf: (n: number) => Record<string, string>, name: string) =>
  Effect.map(
    Effect.forEach(Array.from({ length: count }), (_, n) => ask(`${name}${n}@example.com`, headersOf(n)), {
      concurrency: 4
    }),
    (answers) => answers.map(({ status }) => status).filter((status) => status === 200).length
  )

const limits = { ...publicly, LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "20", LIMIT_VERIFIES_PER_IP_PER_HOUR: "20" }

layer(serviceLayer(limits), { excludeTestServices: true })("Whom a limit counts:", (it) => {
  // https://github.com/Kaoruha/GinkGO/issues/5475
  it.effect("C40 P30 takes 30 requests from one peer for one client's, whatever their headers claim", () =>
    Effect.gen(function* () {
      const claims = (n: number) => ({
        "x-forwarded-for": `203.0.113.${n}`,
        "x-real-ip": `203.0.113.${n}`,
        forwarded: `for=203.0.113.${n}`,
        "cf-connecting-ip": `203.0.113.${n}`,
        "true-client-ip": `203.0.113.${n}`,
        "x-client-ip": `203.0.113.${n}`
      })
      assert.strictEqual(yield* asks(30, claims, "claim"), 20)
      const attempts = yield* Effect.forEach(Array.from({ length: 30 }), (_, n) =>
        wire("POST", "/auth/verify", { body: '{"token":"unknown"}', headers: claims(n) })
      )
      assert.lengthOf(
        attempts.filter(({ status }) => status === 401),
        20
      )
      assertProblem(attempts[29]!, 429, "rate_limited")
      const form = yield* wire("POST", "/sign-in", {
        body: `token=${"a".repeat(43)}`,
        headers: { ...claims(99), "content-type": "application/x-www-form-urlencoded" }
      })
      assert.strictEqual(form.status, 429)
    })
  )
})

layer(serviceLayer({ ...limits, TRUSTED_PROXIES: "127.0.0.1,10.0.0.0/8" }), { excludeTestServices: true })((it) => {
  const behind = (chain: (n: number) => string, name: string, count = 24) =>
    asks(count, (n) => ({ "x-forwarded-for": chain(n) }), name)

  it.effect("C40 P30 counts the right-most entry that is no trusted proxy, and IPv6 clients by /56", () =>
    Effect.gen(function* () {
      // What stands left of the client's own address is its claim.
      assert.strictEqual(yield* behind((n) => `198.51.100.${n}, 203.0.113.7`, "left"), 20)
      assert.strictEqual(yield* behind((n) => `203.0.113.8, 10.0.0.${n}`, "inner"), 20)
      assert.strictEqual(yield* behind((n) => `203.0.114.${n}`, "each"), 24)
      assert.strictEqual(yield* behind((n) => `2001:db8:1:${n.toString(16)}::1`, "six"), 20)
      assert.strictEqual(yield* behind((n) => `2001:db8:1:${n + 1}00::1`, "nets"), 24)
      // Headers that this proxy does not write are still claims.
      const mixed = yield* asks(
        24,
        (n) => ({ "x-forwarded-for": "203.0.113.9", "x-real-ip": `203.0.115.${n}` }),
        "mixed"
      )
      assert.strictEqual(mixed, 20)
      // Entries that are no address cannot make a new client each.
      assert.strictEqual(yield* behind((n) => `203.0.113.10, unknown${n}`, "odd"), 20)
    })
  )
})
