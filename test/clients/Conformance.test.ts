import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { clientTimeout, makeHome, McpService, startClient, toolSuite } from "../support/ClientTools.ts"
import { authorize } from "../support/FakeBrowser.ts"
import { localSecretOf } from "../support/LocalSecrets.ts"
import { call, freePort } from "../support/ServiceProcess.ts"

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

toolSuite("conformance", "dist/index.js", (it, file) => {
  it.effect(
    "finds the metadata and the authorization code grant as the specification has them",
    () =>
      Effect.gen(function* () {
        const { issuer, mcp } = yield* McpService
        const home = yield* makeHome
        const port = yield* freePort
        const registered = yield* call(`${issuer}/register`, {
          body: JSON.stringify({
            client_name: "Conformance",
            redirect_uris: [`http://127.0.0.1:${port}/callback`],
            token_endpoint_auth_method: "none"
          })
        })
        const { client_id } = JSON.parse(registered.text) as { readonly client_id: string }
        const client = yield* startClient(home, file, [
          "authorization",
          "--url",
          issuer,
          "--client-id",
          client_id,
          "--resource",
          mcp,
          "--port",
          `${port}`,
          "--output-dir",
          home.folder
        ])
        const request = yield* client.says(/http:\S+\/authorize\?\S+(?=\s)/)
        yield* Effect.promise(async () => fetch(await authorize(request, { localSecret: localSecretOf(issuer) })))
        const { code, stdout } = yield* client.ended
        assert.strictEqual(code, 0, client.output())
        const checks = globSync(join(home.folder, "**/checks.json")).flatMap(
          (name) => JSON.parse(readFileSync(name, "utf8")) as ReadonlyArray<Check>
        )
        assert.deepStrictEqual(
          checks.map(({ id, status }) => `${id}: ${status}`).toSorted(),
          [
            "authorization-code-grant: SUCCESS",
            "authorization-server-metadata-cimd: SUCCESS",
            "authorization-server-metadata: SUCCESS"
          ],
          stdout
        )
      }),
    clientTimeout
  )
})
