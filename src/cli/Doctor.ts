import { Config, Console, Context, Effect, Layer, Result } from "effect"
import { Command } from "effect/cli"
import { Settings } from "../server/config/Settings.ts"
import { findingsOf, type Finding } from "./doctor/Finding.ts"
import { configuration, database, mail, rateLimits, unusable } from "./doctor/ResourceChecks.ts"
import { access, documents, proxyScheme, publicUrl } from "./doctor/ServiceChecks.ts"
import { switchFlag } from "./RemoteAccount.ts"
import { hanging, Stopped } from "./Formats.ts"

const checksOfService = ["proxy scheme", "well-known documents", "MCP sign-in", "MCP round trip", "API key"]

const examine = Effect.fnUntraced(function* (report: (finding: Finding) => Effect.Effect<void>) {
  const findings: Array<Finding> = []
  const found = Effect.fnUntraced(function* (...some: ReadonlyArray<Finding>) {
    findings.push(...some)
    yield* Effect.forEach(some, report, { discard: true })
  })
  const skip = (why: string, checks: ReadonlyArray<string>) =>
    found(...checks.map((check) => findingsOf(check).skipped(why)))
  const built = yield* Effect.result(Effect.scoped(Layer.build(Settings.layer)))
  if (Result.isFailure(built)) {
    yield* found(...unusable(built.failure))
    yield* skip("needs valid settings", ["database", "mail", "public URL", ...checksOfService])
    return findings
  }
  const settings = Context.get(built.success, Settings)
  yield* found(...configuration(settings))
  yield* found(yield* database(settings))
  yield* found(...(yield* rateLimits(settings)))
  yield* found(yield* mail(settings))
  const reached = yield* publicUrl(settings)
  yield* found(reached)
  if (reached.status === "failed") {
    yield* skip("needs a public URL that leads to the service", checksOfService)
    return findings
  }
  yield* found(yield* proxyScheme(settings))
  yield* found(yield* documents(settings))
  yield* found(...(yield* access(settings)))
  return findings
})

const colors = { ok: "32", warning: "33", failed: "31", skipped: "90" } as const

const line = ({ check, detail, fix, status }: Finding, columns: number, isColored: boolean): string => {
  const mark = isColored ? `\u001b[${colors[status]}m${status.padEnd(8)}\u001b[0m` : status.padEnd(8)
  const head = `${check}: ${detail}`
  const lines = [hanging(head, columns - 8, 2).join(`\n${" ".repeat(8)}`)]
  if (fix !== undefined) lines.push(...hanging(`Fix: ${fix}`, columns - 8, 5))
  return mark + lines.join(`\n${" ".repeat(8)}`)
}

export const doctorCommand = Command.make(
  "doctor",
  { json: switchFlag("json", "One JSON document: {healthy, checks: [{check, status, detail, fix}]}") },
  Effect.fnUntraced(function* ({ json }) {
    const { stdout } = process
    const noColor = yield* Effect.orDie(Config.option(Config.String("NO_COLOR")))
    const isColored = stdout.isTTY === true && noColor._tag === "None"
    const columns = stdout.isTTY === true ? stdout.columns || 80 : Number.POSITIVE_INFINITY
    const findings = yield* examine((finding) => (json ? Effect.void : Console.log(line(finding, columns, isColored))))
    const failures = findings.filter(({ status }) => status === "failed").length
    if (json) yield* Console.log(JSON.stringify({ healthy: failures === 0, checks: findings }, null, 2))
    if (failures > 0)
      return yield* new Stopped({ message: failures === 1 ? "One check failed." : `${failures} checks failed.` })
  })
).pipe(
  Command.withDescription(
    "Check the settings, the database, Redis, mail, the public URL and the access of MCP clients, and say how to fix what is wrong. Run it where the service runs, with the same environment. Nothing is changed."
  )
)
