import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import packageJson from "../../../package.json" with { type: "json" }
import { clientOf, curlOf } from "../../../src/server/pages/docs/Examples.ts"
import { groups } from "../../../src/server/pages/docs/OpenApi.ts"
import { explanations } from "../../../src/server/pages/docs/ErrorsPage.ts"
import { runExamples } from "../../support/DocsExamples.ts"
import { sitePaths } from "../../support/SitePaths.ts"
import {
  type Answer,
  BaseUrl,
  bodyOf,
  localHeaders,
  newAccount,
  request,
  serviceLayer
} from "../../support/TestService.ts"

const run = promisify(execFile)

// The contract declares only what an operation can answer; the source also has what answers before any operation does.
const source = readFileSync(new URL("../../../src/domain/Problem.ts", import.meta.url), "utf8")
const codes = [...source.matchAll(/members\("([a-z_]+)"/g)].flatMap(([, code]) => code ?? [])

const suite = layer(serviceLayer({ LIMIT_TABLES: "7" }), { excludeTestServices: true, timeout: 60_000 })

suite("The site", (it) => {
  it.effect("is cached briefly, checked by ETag, and says what browsers may load", () =>
    Effect.gen(function* () {
      for (const path of sitePaths) {
        const answer = yield* request("GET", path)
        assert.strictEqual(answer.status, 200, path)
        assert.strictEqual(answer.headers.get("cache-control"), "public, max-age=60", path)
        assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff", path)
        assert.notMatch(answer.headers.get("content-security-policy") ?? "*", /unsafe|\*|https?:/, path)
        const headers = { "if-none-match": answer.headers.get("etag") ?? "" }
        assert.strictEqual((yield* request("GET", path, { headers })).status, 304, path)
      }
    })
  )

  it.effect("takes its limits from the settings", () =>
    Effect.gen(function* () {
      for (const path of ["/", "/llms.md"]) {
        const { text } = yield* request("GET", path)
        assert.match(text, /Tables per account(?:<\/th><td>|: )7\b/, path)
      }
    })
  )

  it.effect("names the package's file by its version", () =>
    Effect.gen(function* () {
      const { text } = yield* request("GET", "/docs/client")
      assert.include(text, `agent-memory-${packageJson.version}.tgz`)
    })
  )

  it.effect("P30 builds every address from BASE_URL, whatever the request says", () =>
    Effect.gen(function* () {
      for (const path of sitePaths) {
        const { text } = yield* request("GET", path, { headers: { "x-forwarded-host": "evil.example" } })
        assert.notInclude(text, "evil.example", path)
      }
    })
  )

  it.effect("leads only to pages and to places on them that there are", () =>
    Effect.gen(function* () {
      const pages = new Map<string, Answer>()
      const pageAt = Effect.fnUntraced(function* (path: string) {
        const page = pages.get(path) ?? (yield* request("GET", path))
        pages.set(path, page)
        return page
      })
      for (const path of sitePaths) {
        const { text } = yield* pageAt(path)
        for (const [, href = ""] of text.matchAll(/<a [^>]*?href="([^"]*)"/g)) {
          const [target = "", anchor] = (href.startsWith("#") ? path + href : href).split("#")
          if (!target.startsWith("/")) continue
          const page = yield* pageAt(target)
          assert.include([200, 303], page.status, `${path} leads to ${href}`)
          if (anchor !== undefined) assert.include(page.text, ` id="${anchor}"`, `${path} leads to ${href}`)
        }
      }
    })
  )

  it.effect("says on a page that there is nothing at an address, and to programs as a problem", () =>
    Effect.gen(function* () {
      for (const path of ["/nothing", "/docs/nothing", "/v1", "/a;b"]) {
        const page = yield* request("GET", path, { headers: { accept: "text/html,*/*;q=0.8" } })
        assert.strictEqual(page.status, 404, path)
        assert.strictEqual(page.headers.get("content-type"), "text/html; charset=utf-8", path)
        assert.include(page.text, "<h1>Page not found</h1>", path)
        const problem = yield* request("GET", path)
        assert.strictEqual(problem.status, 404, path)
        assert.strictEqual(bodyOf(problem)["code"], "not_found", path)
      }
      const api = yield* request("GET", "/v1/_nothing", { headers: { accept: "text/html" } })
      assert.strictEqual(bodyOf(api)["code"], "not_found")
      const icon = yield* request("GET", "/favicon.ico")
      assert.strictEqual(icon.headers.get("content-type"), "image/svg+xml")
    })
  )

  it.effect("keeps private pages out of search engines", () =>
    Effect.gen(function* () {
      const { text } = yield* request("GET", "/robots.txt")
      for (const path of ["/sign-in", "/view/", "/download/"]) assert.include(text, `Disallow: ${path}\n`)
    })
  )

  it.effect("explains every error code at the anchor that a problem's type names", () =>
    Effect.gen(function* () {
      const { text } = yield* request("GET", "/docs/errors")
      const document = bodyOf<{
        components: { schemas: Record<string, { properties?: { type?: { enum?: Array<string> } } }> }
      }>(yield* request("GET", "/openapi.json"))
      const declared = Object.values(document.components.schemas).flatMap(
        ({ properties }) => properties?.type?.enum ?? []
      )
      const types = declared.filter((type) => type.startsWith("/docs/errors#"))
      assert.isAbove(types.length, 20)
      for (const code of [...types.map((type) => type.slice("/docs/errors#".length)), ...codes]) {
        assert.include(text, `id="${code}"`)
        assert.isDefined(explanations[code], code)
      }
    })
  )

  it.effect("gives curl lines and calls of the client that run as they are", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const sql = yield* SqlClient.SqlClient
      const operations = groups().flatMap(({ operations }) => operations)
      /** An account and a row of it for an example to work on, as the example finds them in its environment. */
      const prepared = Effect.fnUntraced(function* (kind: string, operationId: string) {
        const { accountId, apiKey } = yield* newAccount
        if (operationId === "account.delete") {
          // The account that the example deletes.
          yield* sql`DELETE FROM account_emails WHERE email = 'ada@example.com'`
          yield* sql`INSERT INTO account_emails (email, account_id) VALUES ('ada@example.com', ${accountId})`
        }
        const row = bodyOf<{ id: string }>(
          yield* request("POST", "/v1/tasks", { key: apiKey, body: '{"title":"Buy milk","done":false}' })
        )
        yield* request("POST", "/v1/tasks/update_row", {
          key: apiKey,
          body: `{"id":"${row.id}","patch":{"done":false,"n":1}}`
        })
        const keys = bodyOf<{ keys: ReadonlyArray<{ id: string }> }>(
          yield* request("GET", "/v1/_keys", { key: apiKey })
        )
        const link = bodyOf<{ dev_magic_link: string }>(
          yield* request("POST", "/auth/magic-link", {
            body: `{"email":"${kind}-${operationId}@example.com"}`,
            headers: yield* localHeaders
          })
        )
        return {
          AGENT_MEMORY_API_KEY: apiKey,
          ROW_ID: row.id,
          KEY_ID: keys.keys[0]?.id ?? "",
          TOKEN: new URL(link.dev_magic_link).searchParams.get("token") ?? ""
        }
      })
      for (const operation of operations) {
        const env = { PATH: "/usr/bin:/bin", ...(yield* prepared("curl", operation.operationId)) }
        const script = `${curlOf(operation, url)} -sS --fail-with-body`
        const { stdout } = yield* Effect.promise(() => run("/bin/sh", ["-c", script], { env }))
        assert.notInclude(stdout, "/docs/errors#", `${operation.operationId}: ${stdout}`)
        assert.isNotEmpty(stdout)
      }
      const programs = yield* Effect.forEach(operations, (operation) =>
        Effect.map(prepared("client", operation.operationId), (env) => ({
          name: `${operation.operationId}.mts`,
          code: clientOf(operation, url).replace("\n\n", `\n\nObject.assign(process.env, ${JSON.stringify(env)})\n`)
        }))
      )
      const printed = yield* runExamples(programs)
      for (const { operationId } of operations) assert.include(printed, `${operationId}.mts:\n`)
    })
  )
})
