import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { jsonOf, wire, type ProblemBody } from "./Wire.ts"

const folder = fileURLToPath(new URL("../../../../shared/corpora/JSONTestSuite/test_parsing", import.meta.url))
const isHere = existsSync(folder)

// What the suite accepts and this service refuses: names that stand twice, and its own names in a row.
const refused: Readonly<Record<string, ReadonlyArray<string>>> = {
  "y_object_duplicated_key.json": ["duplicate_field"],
  "y_object_duplicated_key_and_value.json": ["duplicate_field"],
  "y_object_long_strings.json": ["reserved_field"]
}

const unspaced = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, "$1")

const bytesOf = (...parts: ReadonlyArray<string | Uint8Array>) => Buffer.concat(parts.map((part) => Buffer.from(part)))

if (isHere) {
  layer(serviceLayer({ LIMIT_ROWS_PER_TABLE: "100000" }))("The JSONTestSuite", (it) => {
    const files = readdirSync(folder).filter((name) => name.endsWith(".json"))

    it.effect("is whole", () => Effect.sync(() => assert.isAbove(files.length, 300)))

    for (const [prefix, rule] of [
      ["y_", "is kept"],
      ["n_", "is refused"],
      ["i_", "is kept as it is or refused"]
    ] as const) {
      it.effect(`${prefix} ${rule}, as a body and as a value inside of one`, () =>
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
