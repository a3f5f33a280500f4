import { inspect } from "node:util"
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Config, ConfigProvider, Duration, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { AgentMemory, layer as layerClient, layerConfig, type Options } from "../../src/client/EffectClient.ts"
import { RowTooLarge } from "../../src/domain/Problem.ts"
import { withFaults, type Fault } from "../support/FaultyServer.ts"
import { BaseUrl, newAccount, serviceLayer } from "../support/TestService.ts"

const Task = Schema.Struct({
  title: Schema.String,
  due: Schema.DateTimeUtcFromString,
  amount: Schema.optionalKey(Schema.BigInt)
})

/** What a program of a new account does with the service. */
const withMemory = <A, E>(
  use: (memory: AgentMemory["Service"]) => Effect.Effect<A, E>,
  options: Partial<Options> = {}
) =>
  Effect.gen(function* () {
    const { apiKey } = yield* newAccount
    const { url: baseUrl } = yield* BaseUrl
    const account = layerClient({ apiKey: Redacted.make(apiKey), baseUrl, ...options })
    return yield* Effect.flatMap(AgentMemory, use).pipe(Effect.provide(account))
  })

layer(serviceLayer())("The Effect client", (it) => {
  it.effect("writes and reads rows as their schema has them", () =>
    withMemory((memory) =>
      Effect.gen(function* () {
        const tasks = memory.table("tasks", Schema.Struct({ title: Schema.String, due: Schema.DateFromString }))
        const due = new Date("2026-11-27T20:07:59.549Z")
        const added = yield* tasks.add({ title: "write", due })
        assert.deepStrictEqual(added.due, due)
        const filter = { due: due.toISOString() }
        const found = yield* tasks.query({ filter, sort: "-title", limit: 5 })
        assert.deepStrictEqual(found, { rows: [added], has_more: false })
        assert.strictEqual(yield* tasks.count(filter), 1)
        const replaced = yield* tasks.upsert({ key: "title", row: { title: "write", due: new Date(0) } })
        assert.deepStrictEqual([replaced.created, replaced.row.due.getTime()], [false, 0])
        const updated = yield* tasks.updateRow({ id: added.id, patch: { due: due.toISOString() } })
        assert.deepStrictEqual(updated.due, due)
        const all = yield* tasks.updateWhere({ filter, patch: { title: "read" }, allowMultiple: true })
        assert.deepStrictEqual([all.updated, all.rows.map(({ title }) => title)], [1, ["read"]])
        assert.strictEqual(yield* tasks.delete({ title: "read" }), 1)
        const [newest] = yield* tasks.versions(added.id)
        assert.deepInclude(newest, { operation: "delete", version: 4 })
        assert.strictEqual((yield* tasks.restore({ id: added.id, version: 1 })).title, "write")
      })
    )
  )

  it.effect("carries out a batch and gives each operation its own result", () =>
    withMemory((memory) =>
      Effect.gen(function* () {
        const tasks = memory.table("tasks", Schema.Struct({ title: Schema.String, due: Schema.DateFromString }))
        const due = new Date(0)
        const [added, upserted, updated, deleted] = yield* tasks.batch((b) => [
          b.add({ title: "write", due }),
          b.upsert({ key: "title", row: { title: "read", due } }),
          b.updateWhere({ filter: { title: "read" }, patch: { title: "rest" } }),
          b.delete({ title: "write" })
        ])
        assert.deepStrictEqual(
          [added.due, upserted.created, updated.rows[0]?.title, deleted] as const,
          [due, true, "rest", 1] as const
        )
      })
    )
  )

  it.effect("fails with one class for one failure, and with the status that it was answered with", () =>
    withMemory((memory) =>
      Effect.gen(function* () {
        const tasks = memory.table("tasks")
        const large = { title: "x".repeat(300_000) }
        const added = yield* Effect.flip(tasks.add(large))
        const upserted = yield* Effect.flip(tasks.upsert({ key: "title", row: large }))
        const statuses = [added, upserted].map((error) => (error instanceof RowTooLarge ? error.status : error))
        assert.deepStrictEqual(statuses, [413, 400])
        assert.strictEqual(upserted._tag === "RowTooLarge" ? upserted.current : 0, 300_012)
      })
    )
  )

  it.effect("reads rows of no schema with exact numbers, exports and imports them", () =>
    withMemory(
      (memory) =>
        Effect.gen(function* () {
          const added = yield* memory.table("sums").add({ n: 12345678901234567890n })
          assert.strictEqual(added["n"], 12345678901234567890n)
          assert.deepStrictEqual(yield* memory.tables, [{ name: "sums", rows: 1 }])
          const exported = yield* memory.export
          assert.deepStrictEqual(exported, { sums: [added] })
          assert.deepStrictEqual(
            yield* memory.import(exported, { dryRun: true }).pipe(
              Effect.flip,
              Effect.map(({ _tag }) => _tag)
            ),
            "IdExists"
          )
          assert.strictEqual((yield* memory.usage).rows, 1)
        }),
      { numbers: "bigint" }
    )
  )

  it.effect("makes links and keys, and ends what was let in", () =>
    withMemory((memory) =>
      Effect.gen(function* () {
        const { id } = yield* memory.table("notes").add({ text: "…" })
        assert.isTrue((yield* memory.links.row({ table: "notes", id })).editable)
        assert.isTrue((yield* memory.links.textField({ table: "notes", id, field: "text" })).editable)
        assert.isFalse((yield* memory.links.query({ table: "notes", filter: { text: "…" } })).editable)
        const key = yield* memory.keys.create("app")
        assert.include(
          (yield* memory.keys.list).map(({ name }) => name),
          "app"
        )
        assert.strictEqual(yield* memory.keys.revoke(key.id), 1)
        assert.deepStrictEqual(yield* memory.connections.list, [])
        assert.strictEqual(yield* memory.connections.revoke("unknown"), 0)
      })
    )
  )

  it.effect("fails with the contract's problems, by tag", () =>
    withMemory((memory) =>
      Effect.gen(function* () {
        const notes = memory.table("notes")
        const missing = yield* notes
          .updateRow({ id: "none", patch: {} })
          .pipe(
            Effect.catchTag("RowNotFound", ({ code, request_id }) => Effect.succeed([code, typeof request_id] as const))
          )
        assert.deepStrictEqual(missing, ["row_not_found", "string"])
        yield* notes.batch((b) => [b.add({ a: 1 }), b.add({ a: 1 })])
        const several = yield* Effect.flip(notes.updateWhere({ filter: { a: 1 }, patch: {} }))
        assert.strictEqual(several._tag === "MultipleMatches" ? several.matches : 0, 2)
        const unsafe = yield* Effect.flip(notes.delete({ a: 1, b: undefined } as never))
        assert.strictEqual(unsafe._tag, "InvalidRequest")
        assert.strictEqual(yield* notes.count(), 2)
      })
    )
  )

  it.effect("names the row that its schema refuses", () =>
    withMemory((memory) =>
      Effect.gen(function* () {
        const { id } = yield* memory.table("tasks").add({ title: 5 })
        const error = yield* Effect.flip(memory.table("tasks", Task).query())
        assert.strictEqual(error._tag, "InvalidRow")
        assert.include(error.message, `Row ${id} of table tasks does not fit its schema: `)
      })
    )
  )

  /** What a program of an account does whose requests meet these faults, and how many there were. */
  const through = <A, E>(
    faults: ReadonlyArray<Fault>,
    apiKey: string,
    use: (memory: AgentMemory["Service"]) => Effect.Effect<A, E>
  ) =>
    Effect.flatMap(BaseUrl, ({ url: target }) =>
      Effect.promise(() =>
        withFaults({ faults, target }, async (baseUrl, seen) => {
          const account = layerClient({ apiKey: Redacted.make(apiKey), baseUrl })
          const exit = await Effect.runPromiseExit(Effect.flatMap(AgentMemory, use).pipe(Effect.provide(account)))
          return { exit, tries: seen.length }
        })
      )
    )

  it.effect("deletes what a filter matches also behind a proxy that drops bodies of deletes", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const { exit } = yield* through([{ kind: "none" }, { kind: "strip body" }], apiKey, (memory) =>
        Effect.gen(function* () {
          const tasks = memory.table("tasks")
          yield* tasks.batch((b) => [b.add({ n: 1, s: "a&b=+%" }), b.add({ n: 1 }), b.add({ n: 2 })])
          const deleted = yield* tasks.delete({ n: 1, s: "a&b=+%" })
          return [deleted, yield* tasks.count()]
        })
      )
      assert.deepStrictEqual(exit, Exit.succeed([1, 2]))
    })
  )

  const refused = (headers: Record<string, string>, body: string): Fault => ({
    kind: "answer",
    status: 400,
    headers,
    body
  })
  const otherRefusals: ReadonlyArray<readonly [what: string, fault: Fault, filter: string]> = [
    [
      "a proxy refuses it",
      refused({ "content-type": "text/html" }, "<h1>Your client has issued a malformed request."),
      "x"
    ],
    [
      "the service refuses what it holds",
      refused(
        {},
        JSON.stringify({
          type: "/docs/errors#invalid_request",
          title: "The request is not valid",
          status: 400,
          code: "invalid_request",
          errors: [{ path: "/filter", message: "must be an object" }]
        })
      ),
      "x"
    ],
    ["it is of 8 KB or more there", { kind: "strip body" }, "é".repeat(1370)]
  ]
  for (const [why, fault, s] of otherRefusals) {
    it.effect(`does not bring a delete's filter into the address where ${why}`, () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        const { exit, tries } = yield* through([fault], apiKey, (memory) => memory.table("tasks").delete({ s }))
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(tries, 1)
      })
    )
  }

  it.effect("makes one key when the connection is reset after it was made", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const { exit, tries } = yield* through([{ kind: "reset after" }], apiKey, ({ keys }) => keys.create("app"))
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(tries, 1)
    })
  )

  const lost: ReadonlyArray<Fault> = [{ kind: "cut after" }, { kind: "answer", status: 503 }]

  it.effect("writes once, whatever becomes of the connection", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const { url: target } = yield* BaseUrl
      yield* Effect.promise(() =>
        withFaults({ faults: lost, target }, (baseUrl, seen) =>
          Effect.runPromise(
            Effect.gen(function* () {
              const memory = yield* AgentMemory
              const added = yield* memory.table("tasks").add({ n: 1 })
              assert.deepStrictEqual((yield* memory.table("tasks").query()).rows, [added])
              assert.lengthOf(new Set(seen.slice(0, 3).map(({ idempotencyKey }) => idempotencyKey)), 1)
              assert.lengthOf(seen, 4)
            }).pipe(Effect.provide(layerClient({ apiKey: Redacted.make(apiKey), baseUrl })))
          )
        )
      )
    })
  )
})

describe("The Effect client's options", () => {
  const apiKey = Redacted.make("svc_live_secret")
  const failing = (faults: ReadonlyArray<Fault>, options: Partial<Options>) =>
    withFaults({ faults }, async (baseUrl, seen) => {
      const call = Effect.flatMap(AgentMemory, ({ keys }) => keys.create("app")).pipe(
        Effect.flip,
        Effect.provide(layerClient({ apiKey, baseUrl, ...options }))
      )
      return { error: await Effect.runPromise(call), tries: seen.length }
    })

  it("do not let a key be made twice, nor show in errors", async () => {
    const { error, tries } = await failing([{ kind: "cut before" }, { kind: "cut before" }], {})
    assert.strictEqual(error._tag, "HttpClientError")
    assert.strictEqual(tries, 1)
    assert.notInclude(inspect(error, { depth: 20 }) + JSON.stringify(error), "svc_live_secret")
  })

  it("bound the time of a try", async () => {
    const { error } = await failing([{ kind: "silence" }], { timeout: Duration.millis(50) })
    assert.include(error.message, "No answer within 50ms")
  })

  it("come from configuration", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const account = layerConfig({ apiKey: Config.Redacted("MEMORY_KEY"), baseUrl: Config.String("MEMORY_URL") })
        const provider = ConfigProvider.fromUnknown({ MEMORY_KEY: "svc_live_x", MEMORY_URL: "http://127.0.0.1:1" })
        const built = yield* Layer.build(Layer.provide(account, ConfigProvider.layer(provider)))
        assert.isDefined(built)
        const missing = yield* Effect.flip(
          Layer.build(Layer.provide(account, ConfigProvider.layer(ConfigProvider.fromUnknown({}))))
        )
        assert.include(missing.message, "MEMORY_KEY")
      }).pipe(Effect.scoped)
    ))

  it("die with what is wrong", async () => {
    const exit = await Effect.runPromiseExit(
      Effect.scoped(Layer.build(layerClient({ apiKey: Redacted.make(""), baseUrl: "http://127.0.0.1:1" })))
    )
    assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("There is no API key."))
  })
})
