const given = process.argv.slice(2)

// Only what was asked for is read: a service starts without the command line, and the command line without the service.
if (given.length === 0 || given.join() === "serve") {
  const { serve } = await import("./cli/Serve.ts")
  serve()
} else {
  const { runCommand } = await import("./cli/Commands.ts")
  runCommand(given)
}
