import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { clientTimeout, makeOwnersHome, McpService, startClient, toolSuite, type Home } from "../support/ClientTools.ts"
import { freePort } from "../support/ServiceProcess.ts"

/** What the inspector prints. */
interface Printed {
  /** What it found in the tools' schemas that some clients or models don't take: errors and warnings; left out if none. */
  readonly schemaFindings?: unknown
  readonly result?: { readonly tools?: ReadonlyArray<unknown>; readonly structuredContent?: unknown }
}

toolSuite("inspector", "clients/launcher/build/index.js", (it, file) => {
  const run = Effect.fnUntraced(function* (mcp: string, home: Home, options: ReadonlyArray<string>) {
    const client = yield* startClient(home, file, ["--cli", mcp, "--format", "json", ...options], {
      MCP_AUTO_OPEN_ENABLED: "true",
      MCP_INSPECTOR_SECRET_STORE: "file",
      MCP_STORAGE_DIR: join(home.folder, "storage"),
      MCP_OAUTH_CALLBACK_URL: `http://127.0.0.1:${yield* freePort}/oauth/callback`
    })
    const { code, stderr, stdout } = yield* client.ended
    assert.strictEqual(code, 0, stdout + stderr)
    return { ...(JSON.parse(stdout) as Printed), stderr, stdout }
  })

  for (const era of ["legacy", "modern"])
    it.effect(
      `logs in, lists the tools without a fault, and calls one without another login, in the ${era} protocol`,
      () =>
        Effect.gen(function* () {
          const { mcp } = yield* McpService
          const home = yield* makeOwnersHome
          const listed = yield* run(mcp, home, ["--protocol-era", era, "--method", "tools/list", "--strict"])
          assert.include(listed.stderr, "/authorize?")
          assert.strictEqual(listed.result?.tools?.length, 20, listed.stdout)
          assert.isUndefined(listed.schemaFindings)
          const called = yield* run(mcp, home, [
            "--protocol-era",
            era,
            "--stored-auth-only",
            "--method",
            "tools/call",
            "--tool-name",
            "count",
            "--tool-arg",
            "table=nothing"
          ])
          assert.notInclude(called.stderr, "/authorize?")
          assert.deepStrictEqual(called.result?.structuredContent, { count: 0 }, called.stdout)
        }),
      clientTimeout
    )
})
