import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { DatabaseLayer } from "../../support/Database.ts"
import { showing } from "../../support/Statements.ts"
import { newAccount, request, serviceOn } from "../../support/TestService.ts"

/** What the database says that it has, as it is with Citus; nothing of Citus is there. */
const NamedCitus = Layer.effectDiscard(
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      SELECT 99999, 'citus', 10, 'public'::regnamespace, false, '13.0'
    `
  )
)

/** For how many accounts each statement was that let requests in or stored what they changed. */
let carried: Array<number> = []
const noted = showing((text, parameters) =>
  Effect.sync(() => {
    const [first] = parameters
    if (text.includes("take_free_token")) carried.push(1)
    if (text.includes("take_tokens") || text.startsWith("WITH wanted AS")) {
      const { value } = first as { readonly value: ReadonlyArray<string> }
      carried.push(new Set(value).size)
    }
  })
)
const watched = Layer.succeed(Statement.CurrentTransformer, noted)

/** Adds of many accounts at once, twice: the first finds no bucket yet. */
const addAtOnce = Effect.gen(function* () {
  const accounts = yield* Effect.forEach(Array.from({ length: 40 }), () => newAccount)
  const add = ({ apiKey }: (typeof accounts)[number]) => request("POST", "/v1/notes", { key: apiKey, body: "{}" })
  carried = []
  for (let round = 0; round < 2; round++) {
    const answers = yield* Effect.forEach(accounts, add, { concurrency: "unbounded" })
    assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [201])
  }
  return Math.max(...carried)
})

const options = { excludeTestServices: true } as const

layer(serviceOn(NamedCitus.pipe(Layer.provideMerge(DatabaseLayer))).pipe(Layer.provideMerge(watched)), options)(
  "On Citus, which its extension tells at the start,",
  (it) => {
    it.effect("a statement lets in or stores what one account sends", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* addAtOnce, 1)
        assert.isAtLeast(carried.length, 160)
      })
    )
  }
)

layer(serviceOn(DatabaseLayer).pipe(Layer.provideMerge(watched)), options)("On PostgreSQL alone", (it) => {
  it.effect("a statement lets in or stores what many accounts send", () =>
    Effect.gen(function* () {
      assert.isAbove(yield* addAtOnce, 1)
    })
  )
})
