import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { callMcp, connect, exchange, newClient, newCode, newPerson, refresh, tokensOf } from "../../support/OAuth.ts"
import type { StatementFault } from "../../support/StatementFaults.ts"
import { bodyOf, localHeaders, request, type Answer } from "../../support/TestService.ts"
import { directly, Faulty, faultyService, openTransactions } from "./EveryStatement.ts"

const faults: ReadonlyArray<StatementFault> = ["dropped", "lost", { refusedWith: "53100" }]

const Service = faultyService({
  LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "10000",
  LIMIT_VERIFIES_PER_IP_PER_HOUR: "10000"
})

const untilAvailable = <R>(call: Effect.Effect<Answer, never, R>) =>
  Effect.repeat(call, { while: ({ status }) => status === 503, schedule: Schedule.spaced("10 millis"), times: 100 })

/** Lets each statement of `call` in turn meet each fault, and looks at the answer; gives how many statements there are. */
const sweep = Effect.fnUntraced(function* <A, R, R2, R3>(
  prepare: Effect.Effect<A, never, R>,
  call: (prepared: A) => Effect.Effect<Answer, never, R2>,
  look: (prepared: A, answer: Answer, fault: StatementFault) => Effect.Effect<void, never, R3>
) {
  const { network } = yield* Faulty
  for (let nth = 1; ; nth++) {
    let came = false
    for (const fault of faults) {
      const prepared = yield* prepare
      network.arm(nth, fault)
      const answer = yield* call(prepared).pipe(Effect.timeout("20 seconds"), Effect.orDie)
      came = network.disarm() || came
      assert.oneOf(answer.status, [200, 503], `statement ${nth} ${JSON.stringify(fault)}: ${answer.text}`)
      yield* look(prepared, answer, fault)
    }
    if (!came) return nth - 1
  }
})

layer(Service, { excludeTestServices: true })("Whichever statement fails or loses its connection,", (it) => {
  let people = 0

  const linkFor = Effect.fnUntraced(function* (email: string) {
    const headers = yield* localHeaders
    const answer = yield* untilAvailable(request("POST", "/auth/magic-link", { body: `{"email":"${email}"}`, headers }))
    return new URL(bodyOf<{ dev_magic_link: string }>(answer).dev_magic_link).searchParams.get("token")!
  })
  const verify = (token: string) => request("POST", "/auth/verify", { body: `{"token":"${token}"}` })

  it.effect("P7 a sign-in gives its key or can be done again, and an address has one account", () =>
    Effect.gen(function* () {
      const prepare = Effect.gen(function* () {
        const email = `person${people++}@example.com`
        return { email, token: yield* linkFor(email) }
      })
      const look = Effect.fnUntraced(function* (
        { email, token }: Effect.Success<typeof prepare>,
        answer: Answer,
        fault: StatementFault
      ) {
        const again = answer.status === 200 ? answer : yield* untilAvailable(verify(token))
        // The token was spent where only the answer got lost.
        if (again.status !== 200) assert.deepStrictEqual([fault, again.status], ["lost", 401], again.text)
        const signedIn = again.status === 200 ? again : yield* verify(yield* linkFor(email))
        const { api_key } = bodyOf<{ api_key: string }>(signedIn)
        assert.strictEqual((yield* request("GET", "/v1/_tables", { key: api_key })).status, 200)
        const accounts = yield* directly(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`SELECT account_id FROM account_emails WHERE email = ${email}`
          )
        ).pipe(Effect.orDie)
        assert.lengthOf(accounts, 1)
      })
      assert.isAtLeast(yield* sweep(prepare, ({ token }) => verify(token), look), 4)
      assert.strictEqual(yield* openTransactions, 0)
    })
  )

  it.effect("P7, P32 a refresh gives its tokens, or gives them when it is repeated", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const statements = yield* sweep(
        Effect.orDie(connect(person, client)),
        ({ refresh_token }) => refresh(client, refresh_token),
        Effect.fnUntraced(function* ({ refresh_token }, answer) {
          const { access_token } = tokensOf(
            answer.status === 200 ? answer : yield* untilAvailable(refresh(client, refresh_token))
          )
          assert.strictEqual((yield* callMcp(access_token)).status, 200)
        })
      )
      assert.isAtLeast(statements, 2)
    })
  )

  it.effect("P7, P32 an exchange gives its tokens or can be done again, unless only its answer was lost", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const statements = yield* sweep(
        Effect.orDie(newCode(person, client)),
        (code) => exchange(client, code),
        Effect.fnUntraced(function* (code, answer, fault) {
          const again = answer.status === 200 ? answer : yield* untilAvailable(exchange(client, code))
          if (again.status !== 200) assert.deepStrictEqual([fault, again.status], ["lost", 400], again.text)
          if (again.status !== 200) return
          assert.strictEqual((yield* callMcp(tokensOf(again).access_token)).status, 200)
        })
      )
      assert.isAtLeast(statements, 2)
      assert.strictEqual(yield* openTransactions, 0)
    })
  )
})
