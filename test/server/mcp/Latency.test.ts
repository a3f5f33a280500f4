import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { done, newConnection } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { request, serviceLayer } from "../../support/TestService.ts"
import { rpc, send } from "./Messages.ts"
import { within } from "../../support/OwnTime.ts"

/** Runs each effect so many times, all of them in turn so that they meet the same load, and gives how long they took. */
const measured = Effect.fnUntraced(function* <E, R>(
  effects: Readonly<Record<string, Effect.Effect<unknown, E, R>>>,
  runs = 150
) {
  const times: Record<string, Array<number>> = {}
  const round = Effect.forEach(Object.entries(effects), ([name, effect]) =>
    Effect.suspend(() => {
      const start = performance.now()
      return Effect.map(effect, () => void (times[name] ??= []).push(performance.now() - start))
    })
  )
  yield* Effect.forEach(Array.from({ length: runs }), () => round, { concurrency: 3, discard: true })
  return (name: string) => {
    const inOrder = times[name]!.toSorted((a, b) => a - b)
    const at = (share: number) => inOrder[Math.floor(runs * share)]!
    return { p50: at(0.5), p99: at(0.99) }
  }
})

layer(serviceLayer(), { excludeTestServices: true })("The endpoint", (it) => {
  it.effect("47 sends a call without a token to the sign-in without asking the database", () =>
    Effect.gen(function* () {
      const admin = yield* poolOf((yield* DatabaseUrl).url)
      yield* admin.withTransaction(
        Effect.gen(function* () {
          const tables = yield* admin<{ name: string }>`
            SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'
          `
          for (const { name } of tables) yield* admin`LOCK TABLE ${admin(name)} IN ACCESS EXCLUSIVE MODE`
          for (const token of [undefined, "nonsense", "svc_access_nonsense", "svc_live_nonsense"]) {
            const answer = yield* callMcp(token).pipe(within(1000))
            assert.strictEqual(answer.status, 401)
          }
          const found = yield* request("GET", "/.well-known/oauth-protected-resource/mcp")
          assert.strictEqual(found.status, 200)
        })
      )
    })
  )

  it.effect("47 answers a call nearly as quickly as REST, and what needs no data more quickly", () =>
    Effect.gen(function* () {
      const { apiKey: key, token } = yield* newConnection()
      for (let n = 0; n < 20; n++) yield* done(token, "add", { table: "t", row: { n } })
      const timesOf = yield* measured({
        "REST query": request("GET", `/v1/t?filter=${encodeURIComponent('{"n":7}')}`, { key }),
        query: done(token, "query", { table: "t", filter: { n: 7 } }),
        "REST add": request("POST", "/v1/rest", { key, body: "{}" }),
        add: done(token, "add", { table: "other", row: {} }),
        "tools/list": send(token, rpc("tools/list")),
        "401": callMcp(undefined),
        "401 of an unknown token": callMcp(`svc_access_${"a".repeat(20)}_${"b".repeat(43)}`),
        discovery: request("GET", "/.well-known/oauth-protected-resource/mcp")
      })
      // A call asks for its token, its limit and its data in turn, where REST asks for key and limit at once. The slowest
      // of a hundred are those that met a pause of the machine, which any of them may.
      for (const [name, like, factor] of [
        ["query", "REST query", 2.5],
        ["add", "REST add", 2.5],
        // The list is long, and compressed.
        ["tools/list", "REST query", 5],
        ["401", "REST query", 1],
        ["401 of an unknown token", "REST query", 1.5],
        ["discovery", "REST query", 1]
      ] as const) {
        const [own, rest] = [timesOf(name), timesOf(like)]
        const told = `${name} ${JSON.stringify(own)}, ${like} ${JSON.stringify(rest)}`
        assert.isBelow(own.p50, rest.p50 * factor + 2, told)
        assert.isBelow(own.p99, rest.p99 * factor + 50, told)
      }
    })
  )
})
