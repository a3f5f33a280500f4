import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { backup, backupId, backupRow } from "../../support/Backups.ts"
import { BoundedService } from "../../support/BoundedService.ts"
import { longestBlock } from "../../support/LongestTurn.ts"
import { call } from "../../support/ServiceProcess.ts"
import { signIn } from "../instances/TwoInstances.ts"

const textLength = 24_000
const maxEdits = 20

/** Texts of one letter, which a search for a long text of it and another letter compares again and again. */
const fullTable = (n: number) => `"kind":1,"n":${n},"text":"${"a".repeat(textLength)}z"`
const old = `${"a".repeat(textLength / 2)}b`

type Write = readonly [path: string, body: string, answer: string]

const update = (edits: ReadonlyArray<object>, others: object) => JSON.stringify({ ...others, edits })
const everyRow = { filter: { kind: 1 }, allowMultiple: true }

const writesOf = (rows: number): Record<string, Write> => ({
  "20 replacements in each row": [
    "/v1/big/update_where",
    update(
      Array.from({ length: maxEdits }, (_, n) => ({
        op: "replace",
        field: "text",
        old: n % 2 === 0 ? "aaz" : "aay",
        new: n % 2 === 0 ? "aay" : "aaz"
      })),
      everyRow
    ),
    `"updated":${rows}`
  ],
  "20 sums of 2,000 digits in each row": [
    "/v1/big/update_where",
    update(
      Array.from({ length: maxEdits }, (_, n) => ({ op: "increment", field: "n", by: n % 2 === 0 ? 1 : -1 })),
      everyRow
    ).replaceAll('"by":1', `"by":1e-1000`),
    `"updated":${rows}`
  ],
  "a text that engines search for seconds, in each of a batch's 100 rows": [
    "/v1/big/batch",
    JSON.stringify({
      operations: Array.from({ length: 100 }, (_, n) => ({
        action: "update_row",
        id: backupId(n),
        edits: [
          ...Array.from({ length: maxEdits - 1 }, () => ({ op: "replace", field: "text", old: "z", new: "z" })),
          { op: "replace", field: "text", old: n === 99 ? old : "z", new: "z" }
        ]
      }))
    }),
    `has old 0 times`
  ],
  "a text that is not there, in the first row": [
    "/v1/big/update_where",
    update(
      Array.from({ length: maxEdits }, () => ({ op: "replace", field: "text", old, new: "" })),
      everyRow
    ),
    `has old 0 times`
  ]
})

/** Sends the worst edits of a table with so many rows of 24 KB, and asserts that none stops the process for long. */
export const sendWorstEdits = Effect.fnUntraced(function* (rows: number) {
  const service = yield* BoundedService
  const key = yield* signIn(service.url, "edits@example.com")
  const body = backup({ big: Array.from({ length: rows }, (_, n) => backupRow(n, fullTable(n))) })
  const imported = yield* call(`${service.url}/v1/_import`, { key, body })
  assert.strictEqual(imported.status, 200, imported.text)
  for (const [name, [path, body, expected]] of Object.entries(writesOf(rows))) {
    yield* service.strain
    const answer = yield* call(service.url + path, { key, body })
    const { blocked } = yield* service.strain
    assert.include(answer.text, expected, `${name}: ${answer.text.slice(0, 300)}`)
    assert.isBelow(blocked, longestBlock(), name)
  }
})
