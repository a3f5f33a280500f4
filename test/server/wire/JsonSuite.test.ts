import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import { callToolBytes, newConnection } from "../../support/Mcp.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { jsonOf, wire, type ProblemBody } from "./Wire.ts"

const folder = inject("jsonTestSuite")

// What the suite accepts and this service refuses: names that stand twice, and its own names in a row.
const refused: Readonly<Record<string, ReadonlyArray<string>>> = {
  "y_object_duplicated_key.json": ["duplicate_field"],
  "y_object_duplicated_key_and_value.json": ["duplicate_field"],
  "y_object_long_strings.json": ["reserved_field"]
}

const unspaced = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, "$1")

const bytesOf = (...parts: ReadonlyArray<string | Uint8Array>) => Buffer.concat(parts.map((part) => Buffer.from(part)))

if (folder !== "") {
  layer(serviceLayer({ LIMIT_ROWS_PER_TABLE: "100000" }))("The JSONTestSuite", (it) => {
    const files = readdirSync(folder).filter((name) => name.endsWith(".json"))

    it.effect("is whole", () => Effect.sync(() => assert.isAbove(files.length, 300)))

    for (const [prefix, rule] of [
      ["y_", "is kept"],
      ["n_", "is refused"],
      ["i_", "is kept as it is or refused"]
    ] as const) {
      it.effect(`P14 ${prefix} ${rule}, as a body and as a value inside of one`, () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          for (const name of files.filter((name) => name.startsWith(prefix))) {
            const bytes = readFileSync(join(folder, name))
            const isObject = /^[ \t\r\n]*\{/.test(bytes.toString("latin1"))
            for (const [body, own] of [
              [bytes, (text: string) => unspaced(text).slice(1)],
              [bytesOf('{"v":', bytes, "}"), (text: string) => `"v":${unspaced(text)}}`]
            ] as const) {
              const answer = yield* wire("POST", "/v1/t", { key, body })
              const accepted = answer.status === 201
              if (!accepted) {
                assert.strictEqual(answer.status, 400, name)
                assert.strictEqual(answer.headers["content-type"], "application/problem+json")
              }
              const { code } = jsonOf<Partial<ProblemBody>>(answer)
              if (prefix === "n_" && isUnbalanced(bytes, body)) assert.isFalse(accepted, name)
              if (prefix === "y_" && (isObject || body !== bytes)) {
                if (refused[name]?.includes(code ?? "") === true) assert.isFalse(accepted)
                else assert.isTrue(accepted, `${name} ${answer.text}`)
              }
              if (accepted) {
                const text = bytes.toString()
                const expected = own(text) === "}" ? "}" : `,${own(text)}`
                assert.isTrue(answer.text.endsWith(expected), `${name} ${answer.text}`)
                const { id } = jsonOf<{ id: string }>(answer)
                const filter = encodeURIComponent(`{"id":"${id}"}`)
                const read = yield* wire("GET", `/v1/t?filter=${filter}`, { key })
                assert.strictEqual(read.text, `{"rows":[${answer.text}],"has_more":false}`, name)
              }
            }
          }
          assert.strictEqual((yield* wire("GET", "/v1/_export", { key })).status, 200)
        })
      )
    }

    // All doors read with one scanner, which the adds above show every file to.
    const some = files.filter((name, index) => name.startsWith("i_") || index % 4 === 0)

    it.effect("P14 a file is kept or refused by filters, batches and tools as it is by an add", () =>
      Effect.gen(function* () {
        const { apiKey: key, token } = yield* newConnection()
        const compare = Effect.fnUntraced(function* (name: string) {
          const bytes = readFileSync(join(folder, name))
          // An address is percent-encoded, which only tells bytes apart, so that all of these say the same.
          const percent = [...bytesOf('{"v":', bytes, "}")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`)
          const added = yield* wire("POST", "/v1/t", { key, body: bytesOf('{"v":', bytes, "}") })
          const accepted = added.status === 201
          const value = accepted ? added.text.slice(added.text.indexOf(',"v":') + 5, -1) : ""
          const operations = bytesOf(
            '{"operations":[{"action":"add","row":{}},{"action":"add","row":{"v":',
            bytes,
            "}}]}"
          )
          const batch = yield* wire("POST", "/v1/t/batch", { key, body: operations })
          assert.strictEqual(batch.status, accepted ? 200 : 400, `${name} ${batch.text.slice(0, 300)}`)
          if (accepted) assert.isTrue(batch.text.endsWith(`,"v":${value}}}]}`), name)

          const tool = yield* callToolBytes(
            token,
            "add",
            bytesOf('{"table":"t","returnRows":true,"row":{"v":', bytes, "}}")
          )
          const isTaken = tool.status === 200 && !/"isError":true|"error":\{/.test(tool.text)
          assert.include([200, 400], tool.status, name)
          assert.strictEqual(isTaken, accepted, `${name} ${tool.text.slice(0, 300)}`)
          if (accepted) assert.include(tool.text, `,"v":${value}}`, name)

          if (percent.length > 8000) return
          const isScalar = accepted && !/^[[{]/.test(value)
          const found = yield* wire("GET", `/v1/t/count?filter=${percent.join("")}`, { key })
          assert.strictEqual(found.status, isScalar ? 200 : 400, `${name} ${found.text}`)
          if (isScalar) assert.isAtLeast(jsonOf<{ count: number }>(found).count, 3, name)
        })
        yield* Effect.forEach(some, compare, { concurrency: 4, discard: true })
      })
    )
  })
} else {
  describe("The JSONTestSuite", () => {
    it.skip("is not beside the repository, in shared/corpora", () => undefined)
  })
}

/** Wrapped text can mend itself: a body that closes too much, or holds several members, is another text. */
function isUnbalanced(bytes: Uint8Array, body: Uint8Array): boolean {
  if (body === bytes) return true
  try {
    JSON.parse(Buffer.from(body).toString())
    return false
  } catch {
    return true
  }
}
