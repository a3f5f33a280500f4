import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { backup, backupId, backupRow } from "../../support/Backups.ts"
import { BoundedService } from "../../support/BoundedService.ts"
import { connectedAccount, type Account } from "../../support/ModelRun.ts"
import { call } from "../../support/ServiceProcess.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { rpc } from "../mcp/Messages.ts"

const mib = 1_048_576
const rows = 1000
const rowBytes = Math.floor((24 * mib) / rows)

/** A whole account in one table, as an export has it; ids are an account's own. */
const fullTable = backup({
  big: Array.from({ length: rows }, (_, n) => backupRow(n, `"n":${n},"text":"${"x".repeat(rowBytes - 32)}"`))
})

const times = <A>(count: number, make: (n: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, n) => make(n))

layer(Layer.provideMerge(BoundedService.layer, serviceLayer()), { excludeTestServices: true, timeout: "240 seconds" })(
  "P34 The fullest accounts",
  (it) => {
    it.effect(
      "use all that they may at once, within 512 MB, and stall nobody",
      () =>
        Effect.gen(function* () {
          const service = yield* BoundedService
          const [full, other, third] = [yield* connectedAccount, yield* connectedAccount, yield* connectedAccount]
          const send = (account: Account, path: string, body?: string) =>
            call(service.url + path, { key: account.apiKey, ...(body === undefined ? {} : { body }) })
          assert.strictEqual((yield* send(full, "/v1/_import", fullTable)).status, 200)
          assert.strictEqual(
            (yield* send(full, "/v1/big/update_row", `{"id":"${backupId(1)}","patch":{"a":1}}`)).status,
            200
          )

          const updates = '{"filter":{"text":"none"},"patch":{"a":1},"allowMultiple":true}'
          const everyRow = `{"action":"update_where","filter":{"kind":null},"patch":{"b":2},"allowMultiple":true}`
          const ofEach = times(rows, (n) => n).slice(0, 50)
          const tool = (name: string, args: object) =>
            call(`${service.url}/mcp`, {
              key: full.token ?? "",
              body: JSON.stringify(rpc("tools/call", { name, arguments: args })),
              headers: { accept: "application/json, text/event-stream" }
            })
          yield* service.strain
          const answers = yield* Effect.all(
            [
              ...times(20, () => send(full, "/v1/big?limit=1000")),
              ...times(4, () => send(full, "/v1/_export")),
              ...times(3, () => send(full, "/v1/big/update_where", updates)),
              ...times(2, () => send(full, "/v1/big/batch", `{"operations":[${everyRow},${everyRow}]}`)),
              send(
                full,
                "/v1/big/batch",
                `{"operations":[${ofEach.map((n) => `{"action":"update_row","id":"${backupId(n)}","patch":{"c":1}}`).join()}]}`
              ),
              ...times(4, () => tool("query", { table: "big", limit: 1000 })),
              send(other, "/v1/_import", fullTable),
              send(third, "/v1/_import?dry_run=true", fullTable)
            ],
            { concurrency: "unbounded" }
          )
          const { blocked, megabytes } = yield* service.strain
          process.stdout.write(`held ${Math.round(megabytes)} MB, blocked ${Math.round(blocked)} ms at most\n`)
          assert.isFalse(service.hasEnded(), service.output())
          assert.deepStrictEqual(
            answers
              .filter(({ status }) => ![200, 503].includes(status))
              .map(({ status, text }) => [status, text.slice(0, 300)]),
            []
          )
          assert.isBelow(megabytes, 512)
          assert.isAtMost(blocked, 200)
        }),
      240_000
    )
  }
)
