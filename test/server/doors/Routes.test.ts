import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { Routes } from "../../../src/server/doors/Routes.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { sitePaths } from "../../support/SitePaths.ts"
import { assertProblem, wire } from "../wire/Wire.ts"

const sources = new URL("../../../src/", import.meta.url)

/** An address of a route: names and ids are whatever the path takes. */
const addressOf = (path: string): string =>
  path
    .replaceAll(/:table/g, "t")
    .replaceAll(/:[a-z]+/g, "x")
    .replaceAll("*", "x")

layer(serviceLayer())("The registry of routes", (it) => {
  it.effect("has every route: only it and the contract add any", () =>
    Effect.gen(function* () {
      const adding = readdirSync(sources, { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .filter((file) =>
          /HttpRouter\.(?:add|addAll|use|route)\b|router\.add/.test(readFileSync(new URL(file, sources), "utf8"))
        )
      assert.deepStrictEqual(adding, ["server/doors/Routes.ts"])
      const routes = (yield* Routes).all()
      assert.includeMembers(
        routes.map(({ path }) => path),
        [...sitePaths, "/mcp", "/mcp/", "/token", "/authorize", "/metrics", "/v1/:table", "/view/:token"]
      )
    })
  )

  it.effect("answers OPTIONS of every route without credentials, with the methods that it takes", () =>
    Effect.gen(function* () {
      for (const { method, path } of (yield* Routes).all()) {
        const answer = yield* wire("OPTIONS", addressOf(path))
        assert.strictEqual(answer.status, 204, path)
        assert.include(answer.headers["allow"] ?? "", method, path)
      }
    })
  )

  it.effect("refuses every other method with 405 and Allow", () =>
    Effect.gen(function* () {
      for (const { path } of (yield* Routes).all()) {
        const answer = yield* wire("PUT", addressOf(path))
        assertProblem(answer, 405, "method_not_allowed")
        const options = yield* wire("OPTIONS", addressOf(path))
        assert.strictEqual(answer.headers["allow"], options.headers["allow"], path)
      }
    })
  )

  it.effect("has a name for every request to a route, which is the route's own", () =>
    Effect.gen(function* () {
      const routes = yield* Routes
      for (const { method, operation, path } of routes.all()) {
        assert.strictEqual(routes.nameOf(method, addressOf(path)).operation, operation)
        if (method === "GET") assert.strictEqual(routes.nameOf("HEAD", addressOf(path)).operation, operation)
      }
    })
  )
})
