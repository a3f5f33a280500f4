import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer, Logger } from "effect"
import { CliConfig, CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import packageJson from "../../package.json" with { type: "json" }
import { doctorCommand } from "./Doctor.ts"
import { deleteCommand, countCommand, queryCommand, searchCommand } from "./RowCommands.ts"
import { keysCommand, migrateCommand } from "./DatabaseCommands.ts"
import { changesCommand, undoCommand } from "./History.ts"
import { visible, wrapHelp } from "./Formats.ts"
import { exportCommand, importCommand } from "./Transfer.ts"

const serveCommand = Command.make("serve").pipe(
  Command.withDescription(
    "Run the service, like the command without arguments. Its settings are environment variables."
  )
)

const root = Command.make("agent-memory").pipe(
  Command.withDescription(
    "Small durable JSON tables for AI agents: run and maintain the service, move accounts between services, and read tables. " +
      "Without a command, the service runs. Exit codes: 0 success, 1 failure, 2 wrong usage."
  ),
  Command.withSubcommands([
    serveCommand,
    migrateCommand,
    keysCommand,
    doctorCommand,
    exportCommand,
    importCommand,
    queryCommand,
    countCommand,
    searchCommand,
    changesCommand,
    undoCommand,
    deleteCommand
  ])
)

const exitCode = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return 0
  if (Cause.hasInterruptsOnly(exit.cause)) return 130
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  if (!CliError.isCliError(error)) return 1
  // The help of a command that only has subcommands is no failure.
  return error._tag === "ShowHelp" && error.errors.length === 0 ? 0 : 2
}

/** Prints the failures that the parser has not printed. */
const explain = (cause: Cause.Cause<{ readonly message: string }>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const failure = cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) return Console.error(Cause.pretty(cause))
  return CliError.isCliError(failure.error) ? Effect.void : Console.error(visible(failure.error.message))
}

const plain = CliOutput.defaultFormatter({ colors: false })

/** Without a terminal, lines are not wrapped. */
const columns = (): number => (process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY)

const PlatformLayer = Layer.mergeAll(
  NodeServices.layer,
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] }),
  // Standard output only has a command's result; everything else goes to standard error.
  CliOutput.layer({ ...plain, formatHelpDoc: (doc) => wrapHelp(plain.formatHelpDoc(doc), columns()) }),
  CliOutput.layerPresenter({
    present: (event) => {
      if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
      const faults = event.errors.map(({ message }) => message)
      return Console.error(visible([...faults, `See ${event.commandPath.join(" ")} --help.`].join("\n")))
    }
  }),
  Logger.layer([Logger.withConsoleError(Logger.make(({ message }) => visible([message].flat().join(" "))))])
)

/** Runs a command other than the service. Exit codes: 0 success, 1 failure, 2 wrong usage. */
export const runCommand = (given: ReadonlyArray<string>): void =>
  Command.runWith(root, { version: packageJson.version })(given).pipe(
    Effect.tapCause(explain),
    Effect.provide(PlatformLayer),
    NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(exitCode(exit)) })
  )
