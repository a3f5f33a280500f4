import { NodeRuntime } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer } from "effect"
import { AppLayer } from "./App.ts"
import { batchingConsole } from "./server/telemetry/Logging.ts"

const explain = (cause: Cause.Cause<{ readonly message: string }>) => {
  const failure = cause.reasons.find(Cause.isFailReason)
  return Console.error(
    failure === undefined ? Cause.pretty(cause) : `Agent Memory did not start.\n${failure.error.message}`
  )
}

/** Runs the service until it is stopped. The exit code is 0 then, and 1 if it cannot start. */
export const serve = (): void => {
  // npm forwards the Ctrl-C that the terminal has already sent. The second signal must not kill the shutdown.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined)

  Layer.launch(AppLayer).pipe(
    Effect.onInterrupt(() => Console.log("Agent Memory has stopped.")),
    Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : explain(cause))),
    Effect.provideService(Console.Console, batchingConsole(globalThis.console)),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      // A requested stop is not a failure, and supervisors and npm take any other code for one.
      teardown: (exit, end) => end(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
    })
  )
}
