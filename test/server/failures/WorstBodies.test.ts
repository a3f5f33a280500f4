import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { backup, backupRow } from "../../support/Backups.ts"
import { BoundedService } from "../../support/BoundedService.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { call } from "../../support/ServiceProcess.ts"
import { signIn } from "../instances/TwoInstances.ts"

const mib = 1_048_576
const usual = 8 * mib
const ofImports = 32 * mib

/** A text of so many bytes: as many pieces as fit between its ends. */
const filled = (head: string, piece: (index: number) => string, tail: string, size: number): string => {
  const pieces = [head]
  let length = head.length + tail.length
  for (let index = 0; ; index++) {
    const one = piece(index)
    if (length + one.length > size) break
    pieces.push(one)
    length += one.length
  }
  return pieces.join("").replace(/,$/, "") + tail
}

const names = (index: number) => `"${index.toString(36)}":0,`
const escapes = () => "\\u0061"

type Body = readonly [path: string, body: string, code: string]

const bodies: Record<string, () => Body> = {
  "a batch of zeros": () => ["/v1/t/batch", filled('{"operations":[', () => "0,", "]}", usual), "invalid_request"],
  "an operation that is a list of lists": () => [
    "/v1/t/batch",
    filled('{"operations":[[', () => "[],", "]]}", usual),
    "invalid_request"
  ],
  "an id that is a list of objects": () => [
    "/v1/t/batch",
    filled('{"operations":[{"action":"update_row","patch":{},"id":[', () => "{},", "]}]}", usual),
    "invalid_request"
  ],
  "members that are not known": () => ["/v1/t/batch", filled("{", names, "}", usual), "invalid_request"],
  "a natural key of many names": () => [
    "/v1/t/batch",
    filled('{"operations":[{"action":"upsert","row":{},"key":[', () => '"",', "]}]}", usual),
    "invalid_request"
  ],
  "a batch's name of escapes": () => ["/v1/t/batch", filled('{"', escapes, '":1}', usual), "invalid_request"],
  "an import of empty tables": () => [
    "/v1/_import",
    filled('{"tables":{', (index) => `"t${index}":[],`, "}}", ofImports),
    "table_limit"
  ],
  "an import of rows that are zeros": () => [
    "/v1/_import",
    filled('{"tables":{"t":[', () => "0,", "]}}", ofImports),
    "row_limit"
  ],
  "an import of small rows": () => [
    "/v1/_import",
    filled('{"tables":{"t":[', (index) => `${backupRow(index)},`, "]}}", ofImports),
    "row_limit"
  ],
  "an import of one row of many members": () => [
    "/v1/_import",
    filled('{"tables":{"t":[{', names, "}]}}", ofImports),
    "row_too_large"
  ],
  "an import whose last byte is wrong": () => [
    "/v1/_import",
    filled('{"tables":{"t":[', () => `{"a":"${"x".repeat(60_000)}"},`, "", ofImports),
    "invalid_json"
  ],
  "an import with a table's name of escapes": () => [
    "/v1/_import",
    filled('{"tables":{"', escapes, '":[]}}', ofImports),
    "invalid_request"
  ]
}

layer(Layer.provideMerge(BoundedService.thriftyLayer, DatabaseLayer), {
  excludeTestServices: true,
  timeout: "60 seconds"
})("The worst body", (it) => {
  for (const [index, [name, make]] of Object.entries(bodies).entries()) {
    it.effect(`${name} blocks nobody for long, and takes no more than five times its size`, () =>
      Effect.gen(function* () {
        const service = yield* BoundedService
        const key = yield* signIn(service.url, `person${index}@example.com`)
        // What runs for the first time is slow, and stays in memory.
        yield* call(`${service.url}/v1/t/batch`, {
          key,
          body: '{"operations":[{"action":"delete","filter":{"a":1}}]}'
        })
        yield* call(`${service.url}/v1/_import`, { key, body: backup({ t: [backupRow(1)] }) })
        yield* service.strain
        const [path, body, code] = make()
        const answer = yield* call(service.url + path, { key, body })
        const { blocked, grown } = yield* service.strain
        assert.include(answer.text, `"code":"${code}"`, answer.text.slice(0, 500))
        assert.isBelow(blocked, 200)
        assert.isAtMost(grown, 5 * body.length + 8 * mib)
      })
    )
  }
})
