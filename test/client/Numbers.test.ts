import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createClient, RawNumber, type Numbers } from "../../src/client/createClient.ts"
import { rejection, withClient } from "../support/Client.ts"
import { BaseUrl, newAccount, request, serviceLayer } from "../support/TestService.ts"

const own = String.raw`"a":1,"b":12345678901234567890,"c":1.10,"d":0.1234567890123456789,"e":1e400,"f":-0,"g":[9007199254740993],"s":"\u0000\ud800"`

/** A row with every kind of number, stored from its text, as this client reads it. */
const read = Effect.fnUntraced(function* (numbers: Numbers | undefined) {
  const { apiKey } = yield* newAccount
  const { url: baseUrl } = yield* BaseUrl
  yield* request("POST", "/v1/sums", { key: apiKey, body: `{${own}}` })
  const sums = createClient({ apiKey, baseUrl, numbers }).table("sums")
  const stored = yield* Effect.promise(async () => (await sums.query()).rows[0]!)
  const row = Object.fromEntries(Object.entries(stored).slice(3))
  return { apiKey, row, sums }
})

/** The text under which the row is stored after this client has read it and added it again. */
const roundTrip = Effect.fnUntraced(function* (numbers: Numbers) {
  const { apiKey, row, sums } = yield* read(numbers)
  yield* Effect.promise(() => sums.add(row))
  const { text } = yield* request("GET", "/v1/sums", { key: apiKey })
  return { row, written: text.slice(text.lastIndexOf('"a":'), text.indexOf("}],")) }
})

layer(serviceLayer())("Numbers", (it) => {
  it.effect("are the nearest JavaScript numbers when nothing is said", () =>
    Effect.gen(function* () {
      const { row, sums } = yield* read(undefined)
      assert.deepStrictEqual(Object.values(row).slice(0, 7), [
        1,
        12345678901234567000,
        1.1,
        0.12345678901234568,
        Infinity,
        -0,
        [9007199254740992]
      ])
      assert.strictEqual(row["s"], "\u0000\ud800")
      const error = yield* Effect.promise(() => rejection(sums.add(row)))
      assert.include((error as Error).message, "JSON has no number Infinity")
    })
  )

  it.effect("are exact as bigint, and written back with their value", () =>
    Effect.gen(function* () {
      const { row, written } = yield* roundTrip("bigint")
      assert.deepStrictEqual(Object.values(row).slice(0, 7), [
        1,
        12345678901234567890n,
        1.1,
        new RawNumber("0.1234567890123456789"),
        new RawNumber("1e400"),
        -0,
        [9007199254740993n]
      ])
      assert.strictEqual(written, own.replace("1.10", "1.1"))
    })
  )

  it.effect("are exact as text, and written back digit by digit", () =>
    Effect.gen(function* () {
      const { row, written } = yield* roundTrip("text")
      assert.deepStrictEqual(row["c"], new RawNumber("1.10"))
      assert.deepStrictEqual(row["g"], [new RawNumber("9007199254740993")])
      assert.strictEqual(String(row["c"]), "1.10")
      assert.strictEqual(written, own)
    })
  )

  it.effect("are sent exactly from bigint, wherever one is written", () =>
    withClient(
      async (memory) => {
        const big = 12345678901234567890n
        const sums = memory.table<{ n: bigint; m?: bigint }>("sums")
        const { id } = await sums.add({ n: big })
        assert.strictEqual((await sums.query({ filter: { n: big } })).rows[0]?.n, big)
        assert.strictEqual(await sums.count({ n: big + 1n }), 0)
        assert.strictEqual((await sums.upsert({ key: "n", row: { n: big, m: big } })).row.m, big)
        assert.strictEqual((await sums.updateRow({ id, patch: { m: big + 1n } })).m, big + 1n)
        const [updated, deleted] = await sums.batch((b) => [
          b.updateRow({ id, patch: { m: big } }),
          b.delete({ m: big })
        ])
        assert.deepStrictEqual([updated.m, deleted], [big, 1])
        assert.deepStrictEqual((await sums.versions(id))[0]?.row["m"], big)
        await sums.restore({ id, version: 1 })
        assert.deepStrictEqual((await memory.export())["sums"]?.[0]?.["n"], big)
      },
      { numbers: "bigint" }
    )
  )
})
