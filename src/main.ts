import { NodeRuntime } from "@effect/platform-node"
import { Cause, Console, Effect, Layer } from "effect"
import { App } from "./App.ts"

const explain = (cause: Cause.Cause<{ readonly message: string }>) => {
  const failure = cause.reasons.find(Cause.isFailReason)
  return Console.error(
    failure === undefined ? Cause.pretty(cause) : `Agent Memory did not start.\n${failure.error.message}`
  )
}

Layer.launch(App.layer).pipe(
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : explain(cause))),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
