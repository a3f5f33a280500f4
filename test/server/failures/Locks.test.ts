import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { bodyOf, newAccount, request, serviceLayer, type Answer } from "../../support/TestService.ts"
import { mostWhileAway, timed } from "../../support/OwnTime.ts"

const assertTooSlow = ({ took, value }: { readonly took: number; readonly value: Answer }) => {
  assert.strictEqual(value.status, 503, value.text)
  assert.match(value.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
  assert.include(bodyOf<{ detail: string }>(value).detail, "The database was too slow")
  assert.isBelow(took, mostWhileAway)
}

layer(serviceLayer(), { excludeTestServices: true })("While another session holds", (it) => {
  it.effect("a key's bucket, its requests get 503 in under 3 s, and those of other keys are answered", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { apiKey: other } = yield* newAccount
      const admin = yield* poolOf((yield* DatabaseUrl).url)
      const count = (key: string) => request("GET", "/v1/t/count", { key })
      assert.strictEqual((yield* count(key)).status, 200)
      yield* admin.withTransaction(
        Effect.gen(function* () {
          yield* admin`SELECT tat FROM key_buckets FOR UPDATE`
          const waiting = Array.from({ length: 5 }, () => timed(count(key)))
          const answers = yield* Effect.all(waiting, { concurrency: "unbounded" })
          answers.forEach(assertTooSlow)
          assert.strictEqual((yield* count(other)).status, 200)
        })
      )
      assert.strictEqual((yield* count(key)).status, 200)
    })
  )

  it.effect("an address's bucket, its sign-ins get 503 in under 3 s", () =>
    Effect.gen(function* () {
      const admin = yield* poolOf((yield* DatabaseUrl).url)
      const ask = request("POST", "/auth/magic-link", { body: '{"email":"ada@example.com"}' })
      assert.strictEqual((yield* ask).status, 200)
      yield* admin.withTransaction(
        Effect.gen(function* () {
          yield* admin`SELECT tat FROM sign_in_buckets FOR UPDATE`
          assertTooSlow(yield* timed(ask))
        })
      )
      assert.strictEqual((yield* ask).status, 200)
    })
  )
})
