import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, search, wire } from "./Wire.ts"

const nested = (levels: number) => '{"a":'.repeat(levels - 1) + "{}" + "}".repeat(levels - 1)
const nestedArrays = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`

const faithful: Record<string, string> = {
  "NUL in strings and names": String.raw`{"a":"x\u0000y","\u0000":1}`,
  "lone surrogates": String.raw`{"a":"\ud800","b":"\udc00x\ud83d","\udfff":1}`,
  "surrogate pairs, spelled and escaped": String.raw`{"a":"😀","b":"\ud83d\ude00"}`,
  "every digit of numbers": '{"a":12345678901234567890,"b":1.10,"c":1e400,"d":-0,"e":1E-7,"f":0.1e+1,"g":-0.0e-999}',
  "names of Object's own members": '{"__proto__":{"x":1},"constructor":1,"hasOwnProperty":2,"toString":3,"valueOf":4}',
  "an empty name": '{"":1,"a":{"":{"":[]}}}',
  "the order of integer-like names": '{"b":1,"10":2,"9":3,"a":4,"01":5}',
  "text that is not in a normal form": '{"a":"\u0065\u0301","\u00e9":1,"\u0065\u0301":2,"\ufeff":"\ufeff"}',
  "the spelling of escapes": String.raw`{"a":"\/\u002f\u00e9\n\u000a\"\u0022\\"}`,
  "separators and control characters": String.raw`{"a":"\u2028\u2029\u0085\u007f","b":"${"\u2028\u2029\u007f"}"}`,
  "a hundred levels of objects": nested(100),
  "a hundred levels of arrays": nestedArrays(100),
  "empty containers and literals": '{"a":{},"b":[],"c":[null,true,false,""],"d":[[],[{}]]}',
  "an empty row": "{}"
}

layer(serviceLayer())("What was stored comes back:", (it) => {
  for (const [what, own] of Object.entries(faithful)) {
    it.effect(`P15 ${what}, through every answer that shows rows`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const post = (operation: string, body: string) => wire("POST", `/v1/t${operation}`, { key, body })
        const added = yield* post("", own)
        assert.strictEqual(added.status, 201, added.text)
        const tail = own === "{}" ? "}" : `,${own.slice(1)}`
        assert.isTrue(added.text.endsWith(tail), added.text)
        const id = added.text.slice(7, 43)
        assert.strictEqual((yield* wire("GET", "/v1/t", { key })).text, `{"rows":[${added.text}],"has_more":false}`)
        assert.strictEqual((yield* wire("GET", "/v1/_export", { key })).text, `{"tables":{"t":[${added.text}]}}`)
        const patched = yield* post("/update_row", `{"id":"${id}","patch":{"zz":1}}`)
        assert.include(patched.text, own.slice(1, -1))
        const versions = yield* wire("GET", `/v1/t/versions?id=${id}`, { key })
        assert.include(versions.text, `"row":${added.text}}],"current":`)
        const restored = yield* post("/restore", `{"id":"${id}","version":1}`)
        assert.isTrue(restored.text.endsWith(`${tail}}`), restored.text)
        const upsert = yield* post("/upsert", `{"key":"zk","row":{"zk":1,"v":${own}}}`)
        if (own !== nested(100) && own !== nestedArrays(100)) assert.include(upsert.text, `"v":${own}}`)
        const batch = yield* post("/batch", `{"operations":[{"action":"add","row":${own}}]}`)
        assert.isTrue(batch.text.endsWith(`${tail}}]}`), batch.text)
      })
    )
  }

  it.effect("filters match NUL, lone surrogates and odd names", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const filters = [
        String.raw`{"a":"x\u0000y"}`,
        String.raw`{"b":"\ud800"}`,
        String.raw`{"\u0000":null}`,
        String.raw`{"\udfff":true}`,
        '{"__proto__":1}',
        '{"":12345678901234567890}',
        '{"n":1e400}'
      ]
      for (const filter of filters) yield* wire("POST", "/v1/t", { key, body: filter })
      for (const filter of filters) {
        const found = yield* wire("GET", `/v1/t${search({ filter })}`, { key })
        const { rows } = jsonOf<{ rows: Array<unknown> }>(found)
        assert.strictEqual(rows.length, 1, `${filter} ${found.text}`)
        assert.include(found.text, filter.slice(1))
      }
    })
  )
})

const bytes = (...parts: ReadonlyArray<string | ReadonlyArray<number>>) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))))

const refused: ReadonlyArray<readonly [what: string, body: string | Uint8Array, code: string, path: string]> = [
  ["an overlong UTF-8 sequence", bytes('{"a":"', [0xc0, 0x80], '"}'), "invalid_json", ""],
  ["a surrogate in UTF-8", bytes('{"a":"', [0xed, 0xa0, 0x80], '"}'), "invalid_json", ""],
  ["a truncated UTF-8 sequence", bytes('{"a":"', [0xe2, 0x82], '"}'), "invalid_json", ""],
  ["a byte that UTF-8 never has", bytes('{"a":"', [0xff], '"}'), "invalid_json", ""],
  ["a byte order mark", bytes([0xef, 0xbb, 0xbf], "{}"), "invalid_json", ""],
  ["UTF-16", Buffer.from('{"a":1}', "utf16le"), "invalid_json", ""],
  ["no body", "", "invalid_json", ""],
  ["white space only", " \n", "invalid_json", ""],
  ["trailing text", '{"a":1} x', "invalid_json", ""],
  ["two values", "{}{}", "invalid_json", ""],
  ["a NUL byte behind the value", "{}\0", "invalid_json", ""],
  ["a NUL byte in a string", '{"a":"\0"}', "invalid_json", "/a"],
  ["an unfinished object", '{"a":1', "invalid_json", ""],
  ["a trailing comma", '{"a":1,}', "invalid_json", ""],
  ["a comment", '{"a":1}//', "invalid_json", ""],
  ["single quotes", "{'a':1}", "invalid_json", ""],
  ["NaN", '{"a":{"b":NaN}}', "invalid_json", "/a/b"],
  ["a number with a leading zero", '{"a":[1,01]}', "invalid_json", "/a"],
  ["an array", "[]", "invalid_request", ""],
  ["a string", '"a"', "invalid_request", ""],
  ["null", "null", "invalid_request", ""],
  ["a number", "1", "invalid_request", ""],
  ["101 levels of objects", nested(101), "too_deep", "/a"],
  ["101 levels of arrays", nestedArrays(101), "too_deep", "/a"],
  ["a name twice", '{"a":1,"b":2,"a":1}', "duplicate_field", "/a"],
  ["a name twice, far inside", '{"a":[{"b":{"c":1,"c":2}}]}', "duplicate_field", "/a/0/b/c"],
  ["a name twice, once escaped", String.raw`{"a/b~":1,"\u0061/b~":2}`, "duplicate_field", "/a~1b~0"],
  ["a system field's name twice", '{"id":1,"id":2}', "duplicate_field", "/id"]
]

layer(serviceLayer())("Refused with its place, never altered:", (it) => {
  const bodies: ReadonlyArray<readonly [string, (body: Uint8Array) => Uint8Array, string, string]> = [
    ["a row", (body) => body, "/v1/t", ""],
    ["a row to upsert", (body) => bytes('{"key":"k","row":', [...body], "}"), "/v1/t/upsert", "/row"],
    ["a patch", (body) => bytes('{"id":"x","patch":', [...body], "}"), "/v1/t/update_row", "/patch"],
    [
      "a row of a batch",
      (body) => bytes('{"operations":[{"action":"add","row":', [...body], "}]}"),
      "/v1/t/batch",
      "/operations/0/row"
    ]
  ]
  // Inside of another text these are faults of that text, at another place, or none.
  const alone = new Set(["a byte order mark", "no body", "white space only", "trailing text", "two values"])

  for (const [where, wrap, path, at] of bodies) {
    for (const [what, body, code, place] of refused) {
      if (at !== "" && (alone.has(what) || place === "")) continue
      it.effect(`${where} with ${what}`, () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          const problem = assertProblem(yield* wire("POST", path, { key, body: wrap(Buffer.from(body)) }), 400, code)
          if (code === "too_deep") assert.isTrue(pathsOf(problem)[0]!.startsWith(at + place))
          else if (place !== "") assert.deepStrictEqual(pathsOf(problem), [at + place])
          else assert.strictEqual(problem.errors?.length, 1)
          assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, '{"count":0}')
        })
      )
    }
  }

  it.effect("a body in UTF-16 or with nothing but a mark, by the name of what it is", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const detailOf = (body: Uint8Array, path: string) =>
        Effect.map(wire("POST", path, { key, body }), (answer) => assertProblem(answer, 400, "invalid_json").detail)
      for (const path of ["/v1/t", "/v1/_import"]) {
        const utf16 = yield* detailOf(Buffer.from('\ufeff{"tables":{}}', "utf16le"), path)
        assert.strictEqual(utf16, "The body is encoded in UTF-16. Convert it to UTF-8.")
        const empty = yield* detailOf(Buffer.from("\ufeff"), path)
        assert.strictEqual(empty, "The body is empty: it only has a byte order mark.")
      }
    })
  )

  for (const operation of ["", "/count"]) {
    for (const [what, body, code] of refused) {
      if (typeof body !== "string") continue
      it.effect(`a filter of GET ${operation} with ${what}`, () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          const answer = yield* wire("GET", `/v1/t${operation}${search({ filter: body })}`, { key })
          // What a filter compares has no depth, so that depth in it is a fault of its own.
          const problem = assertProblem(answer, 400, code)
          assert.match(pathsOf(problem)[0] ?? "", /^filter/)
        })
      )
    }
  }
})
