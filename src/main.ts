const given = process.argv.slice(2)

// Only the needed part is loaded: the service without the command line, or the reverse.
if (given.length === 0 || given.join() === "serve") {
  const { serve } = await import("./Serve.ts")
  serve()
} else {
  const { runCommand } = await import("./cli/Commands.ts")
  runCommand(given)
}
