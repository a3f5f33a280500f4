import { Config, Effect, Option } from "effect"
import { spawnSync } from "node:child_process"

/** Where systems have it, the one without windows first: it is the fastest. */
const chromiums = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
]

/** The Chromium that `CHROMIUM` names, or else the first that starts; empty where there is none. */
export const findChromium = Effect.gen(function* () {
  const named = yield* Config.option(Config.String("CHROMIUM"))
  const candidates = Option.isSome(named) ? [named.value] : chromiums
  return candidates.find((path) => spawnSync(path, ["--version"]).status === 0) ?? ""
})

// Chromium refuses its sandbox under root, as in most containers.
export const launchArguments = (): Array<string> => [
  // As a name is that an attacker points at this machine (DNS rebinding).
  "--host-resolver-rules=MAP rebound.example 127.0.0.1",
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking"
]
