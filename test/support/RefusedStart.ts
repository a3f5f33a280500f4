import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { spawnService } from "./ServiceProcess.ts"

/** Starts a process that must end by itself because of what it finds, and gives what it said. */
export const refusedStart = Effect.fnUntraced(function* (variables: Record<string, string>, port?: number) {
  const service = yield* spawnService(variables, port)
  const code = yield* service.ended
  assert.strictEqual(code, 1, service.output())
  assert.include(service.output(), "Agent Memory did not start.")
  return service.output()
})
