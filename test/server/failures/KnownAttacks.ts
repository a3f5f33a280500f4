import { fullBackup } from "../../support/Backups.ts"
import { json, type Door, type Expected } from "./Doors.ts"
import { listOf, manyNames, namedBy } from "./WorstShapes.ts"

const mib = 1_048_576
const usual = 8 * mib

/** What a key and a connection of an account open. */
interface Access {
  readonly apiKey: string
  readonly token: string
}

/** Of 20,000 rows, which are all that an account may hold, but for a little. */
const fullRow = Math.floor((24.5 * mib) / 20_000)

const attack = (
  name: string,
  key: string,
  path: string,
  expected: Expected,
  body: () => string,
  { headers = {}, makes = 0 }: { readonly headers?: Readonly<Record<string, string>>; readonly makes?: number } = {}
): Door => ({
  name,
  method: "POST",
  path,
  headers: { ...json, authorization: `Bearer ${key}`, ...headers },
  limit: 0,
  worst: () => [{ shape: name, place: path, path, body, expected, makes }]
})

const around = (head: string, make: (bytes: number) => string, tail: string, bytes: number) => () =>
  head + make(bytes - head.length - tail.length) + tail

const manyRows = '{"filter":{"kind":"small"},"allowMultiple":true,"patch":{"a":"'
/** What one request may make at most of the rows of an account: twice what that may hold, and a mebibyte. */
const mostMade = 51 * mib

const row = `{${Array.from({ length: 5000 }, (_, index) => `"n${index}":${index}`).join()}}`
const fullBatch = `{"operations":[${Array.from({ length: 100 }, () => `{"action":"add","row":${row}}`).join()}]}`

/** The rows that the attacks find: a thousand small ones. */
export const manySmallRows = fullBackup(1, 1000, 60).replaceAll('"text":"', '"kind":"small","text":"')

/**
 * Requests that once stalled a service or took its memory, and the largest that are legal. `many` has a thousand rows in
 * `table00`, `empty` are accounts that have nothing, one for each that is filled.
 */
export const knownAttacks = (many: Access, empty: ReadonlyArray<Access>): ReadonlyArray<Door> => {
  const { apiKey, token } = many
  const headers = { accept: "application/json, text/event-stream" }
  return [
    attack(
      "a large patch of many rows",
      apiKey,
      "/v1/table00/update_where",
      ["storage_limit"],
      () => `${manyRows}${"x".repeat(60_000)}"}}`,
      { makes: mostMade }
    ),
    attack("a patch larger than a row of many rows", apiKey, "/v1/table00/update_where", ["row_too_large"], () => {
      return `${manyRows}${"x".repeat(450_000)}"}}`
    }),
    attack(
      "a natural key of many names",
      apiKey,
      "/v1/t/batch",
      ["invalid_request"],
      around('{"operations":[{"action":"upsert","row":{"n":1},"key":', listOf('"n"'), "}]}", usual)
    ),
    attack(
      "a batch of zeros",
      apiKey,
      "/v1/t/batch",
      ["invalid_request"],
      around('{"operations":', listOf("0"), "}", usual)
    ),
    attack(
      "a filter of 600,000 members",
      apiKey,
      "/v1/t/batch",
      ["invalid_request"],
      around('{"operations":[{"action":"delete","filter":', manyNames, "}]}", usual)
    ),
    attack(
      "a ping of 8 MB",
      token,
      "/mcp",
      ["-32600"],
      around('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":', listOf("0"), "}}", usual),
      { headers }
    ),
    attack(
      "an import of 500,000 empty tables",
      apiKey,
      "/v1/_import",
      ["table_limit"],
      around(
        '{"tables":',
        namedBy((index) => `"t${index}":[]`, 500_000),
        "}",
        usual
      )
    ),
    attack("the largest batch", empty[0]!.apiKey, "/v1/t/batch", "legal", () => fullBatch),
    attack("a full account", empty[1]!.apiKey, "/v1/_import", "legal", () => fullBackup(20, 1000, fullRow)),
    // One such character makes an engine keep two bytes for every one of the text that it stands in.
    attack("a full account of wide characters", empty[2]!.apiKey, "/v1/_import", "legal", () =>
      fullBackup(20, 1000, fullRow, "😀")
    )
  ]
}

/** How many accounts the attacks fill. */
export const filledAccounts = 3
