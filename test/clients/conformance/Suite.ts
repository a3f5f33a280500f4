import { Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { makeHome, startClient } from "../../support/ClientTools.ts"
import { headerProxy } from "../../support/HeaderProxy.ts"
import { newConnection } from "../../support/Mcp.ts"
import { BaseUrl } from "../../support/TestService.ts"

/** The revisions of the specification whose required scenarios the suite keeps. */
export const revisions = ["2025-11-25", "2026-07-28"] as const

export type Revision = (typeof revisions)[number]

interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO"
}

/**
 * Runs all scenarios that a revision asks of servers, as a client that a person let in: how many checks each passed, and
 * which failed, as `scenario: check`.
 */
export const runSuite = Effect.fnUntraced(function* (file: string, revision: Revision) {
  const { url } = yield* BaseUrl
  const { token } = yield* newConnection()
  const proxy = yield* headerProxy(url, { authorization: `Bearer ${token}` })
  const home = yield* makeHome
  const client = yield* startClient(home, file, [
    "server",
    "--url",
    `${proxy}/mcp`,
    "--requirements",
    revision,
    "--output-dir",
    home.folder
  ])
  const { stdout, stderr } = yield* client.ended
  const passes = new Map<string, number>()
  const failures: Array<string> = []
  for (const name of globSync(join(home.folder, "**/checks.json"))) {
    const scenario = /^server-(.*?)-\d{4}-\d\d-\d\dT/.exec(basename(dirname(name)))?.[1] ?? name
    const checks = JSON.parse(readFileSync(name, "utf8")) as ReadonlyArray<Check>
    passes.set(scenario, checks.filter(({ status }) => status === "SUCCESS").length)
    // Long-running tasks are an extension, which no revision requires.
    if (scenario.startsWith("tasks-")) continue
    failures.push(...checks.flatMap(({ id, status }) => (status === "FAILURE" ? [`${scenario}: ${id}`] : [])))
  }
  return { passes, failures: [...new Set(failures)].toSorted(), printed: stdout + stderr }
})
