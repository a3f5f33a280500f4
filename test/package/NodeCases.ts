import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { logInWith, sdkClients } from "../support/SdkClients.ts"
import { call, signUp } from "../support/ServiceProcess.ts"
import { startCommand } from "./Installed.ts"
import { Packed, run } from "./Packed.ts"

/** The oldest Node that is supported, and one whose `JSON.parse` takes the second of these names for the first. */
const nodes = (folder: string) => ({
  "22.19": join(folder, `node_modules/node-${process.platform}-${process.arch}/bin/node`),
  "24.10": join(folder, "node_modules/node-24/bin/node")
})

const rows = [String.raw`{"price":1,"\\":2}`, String.raw`{"price":1,"\n":2}`]

const names = ["\\", "\n"]

/** Prints the names that the client reads, and those that the engine does. */
const reader = `
import { createClient } from "agent-memory/client"
const { AGENT_MEMORY_API_KEY: apiKey, AGENT_MEMORY_URL: baseUrl } = process.env
const table = createClient({ apiKey, baseUrl }).table("read")
const added = []
for (const name of ${JSON.stringify(names)}) added.push(Object.keys(await table.add({ price: 1, [name]: 2 })).at(-1))
const found = (await table.query({ limit: 2 })).rows.map((row) => Object.keys(row).at(-1))
const parsed = ${JSON.stringify(rows)}.map((text) => Object.keys(JSON.parse(text)).at(-1))
console.log(JSON.stringify({ added, found: found.sort(), parsed }))
`

const tool = (name: string, args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`

/** Tests of the installed package on the Nodes in this folder. */
export const nodeCases = (it: Vitest.MethodsNonLive<Packed>, folder: string) => {
  for (const [version, node] of Object.entries(nodes(folder))) {
    const test = existsSync(node) ? it.effect : it.effect.skip
    test(`P15b serves on Node ${version}, and keeps the names of one caller's row out of another's`, () =>
      Effect.gen(function* () {
        const { project } = yield* Packed
        const command = [node, join(project, "node_modules/agent-memory/src/cli/agent-memory.cjs")]
        const { url } = yield* startCommand(project, command, `node-${version}`)
        const callers = yield* Effect.forEach(rows, (row, n) =>
          Effect.map(signUp(url, `${n}@x.example`), (key) => ({ key, row }))
        )
        const { login } = yield* logInWith(sdkClients["version 1"], `${url}/mcp`)
        const headers = { accept: "application/json" }
        const ask = (name: string, args: string) =>
          Effect.map(
            call(`${url}/mcp`, { key: login.kept?.access_token ?? "", body: tool(name, args), headers }),
            ({ text }) => text
          )

        for (const { key, row } of [...callers, ...callers]) {
          const own = row.slice(1)
          assert.include((yield* call(`${url}/v1/t`, { key, body: row })).text, own)
          const batch = `{"operations":[{"action":"add","row":${row}}]}`
          assert.include((yield* call(`${url}/v1/t/batch`, { key, body: batch })).text, own)
          const patch = `{"filter":${row},"patch":${row},"allowMultiple":true}`
          assert.include((yield* call(`${url}/v1/t/update_where`, { key, body: patch })).text, own)
          assert.include((yield* call(`${url}/v1/t?filter=${encodeURIComponent(row)}`, { key })).text, own)
          assert.include((yield* call(`${url}/v1/_export`, { key })).text, own)
          assert.include(yield* ask("add", `{"table":"t","returnRows":true,"row":${row}}`), own)
          assert.include(yield* ask("query", `{"table":"t","filter":${row}}`), own)
        }
        for (const [n, { key }] of callers.entries()) {
          assert.notInclude((yield* call(`${url}/v1/t`, { key })).text, callers[1 - n]!.row.slice(1))
        }

        writeFileSync(join(project, "reader.mjs"), reader)
        const variables = { AGENT_MEMORY_API_KEY: callers[0]!.key, AGENT_MEMORY_URL: url }
        const read = JSON.parse(yield* run(node, ["reader.mjs"], { cwd: project, variables }))
        const parsed = version === "24.10" ? [names[0], names[0]] : names
        assert.deepStrictEqual(read, { added: names, found: names.toSorted(), parsed })
      }))
  }
}
