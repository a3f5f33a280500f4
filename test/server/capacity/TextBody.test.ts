import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TextBody } from "../../../src/server/capacity/SendResponse.ts"

const piecesOf = (texts: ReadonlyArray<string>) =>
  Effect.map(Stream.runCollect(new TextBody(texts, "text/plain", 0).stream), (pieces) => Array.from(pieces))

describe("A text that is sent in pieces", () => {
  it.effect("is what its texts are in UTF-8, wherever its characters meet the end of a piece", () =>
    Effect.gen(function* () {
      for (const shift of [0, 1, 2, 3]) {
        const texts = ["x".repeat(shift), "🎉é日".repeat(100_000), "", "é".repeat(shift), "{}"]
        const pieces = yield* piecesOf(texts)
        assert.isTrue(Buffer.concat(pieces).equals(Buffer.from(texts.join(""))))
        assert.isAtMost(Math.max(...pieces.map(({ length }) => length)), 262_144)
      }
    })
  )

  it.effect("is encoded no further than its reader has come", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const texts = new Proxy(
        Array.from({ length: 100 }, () => "x".repeat(100_000)),
        {
          get: (target, name, receiver) => {
            if (typeof name === "string" && /^\d+$/.test(name)) asked.push(Number(name))
            return Reflect.get(target, name, receiver) as unknown
          }
        }
      )
      yield* Stream.runDrain(Stream.take(new TextBody(texts, "text/plain", 0).stream, 2))
      assert.isAtLeast(asked.length, 2)
      assert.isBelow(asked.length, 10)
    })
  )
})
