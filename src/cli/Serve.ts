import { NodeRuntime } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer } from "effect"
import { App } from "../App.ts"
import { gatheringConsole } from "../server/telemetry/Terminal.ts"

const explain = (cause: Cause.Cause<{ readonly message: string }>) => {
  const failure = cause.reasons.find(Cause.isFailReason)
  return Console.error(
    failure === undefined ? Cause.pretty(cause) : `Agent Memory did not start.\n${failure.error.message}`
  )
}

/** Runs the service until it is told to stop: exit code 0 then, and 1 when it cannot start. */
export const serve = (): void => {
  // npm passes on the Ctrl-C that the terminal sent already; the second must not kill what the first is ending.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined)

  Layer.launch(App.layer).pipe(
    Effect.onInterrupt(() => Console.log("Agent Memory has stopped.")),
    Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : explain(cause))),
    Effect.provideService(Console.Console, gatheringConsole(globalThis.console)),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      // To be told to stop is no failure: supervisors and npm take any other code for one.
      teardown: (exit, end) => end(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
    })
  )
}
