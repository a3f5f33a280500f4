import { layer, describe, it as vitest, type Vitest } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import axe from "axe-core"
import { chromium, type Browser as Chromium, type Page } from "playwright-core"
import { inject } from "vitest"
import { launchArguments } from "./Chromium.ts"

/** What a person sets their browser to. */
export interface Visitor {
  readonly colorScheme?: "light" | "dark"
  readonly width?: number
  readonly height?: number
  readonly javaScript?: boolean
  /** Whether the page's clock can be moved, with `page.clock`. */
  readonly hasOwnClock?: boolean
}

/** A page with what happened in it. */
export interface Visit {
  readonly page: Page
  /** The address of every request that the page made, in order. */
  readonly requests: ReadonlyArray<string>
  /** What the browser complained of: errors of scripts, and what the Content-Security-Policy kept from happening. */
  readonly complaints: ReadonlyArray<string>
}

/** A real browser. Each visit has its own profile, so it starts without cookies, storage or cache. */
export class Browser extends Context.Service<
  Browser,
  { readonly visit: (visitor?: Visitor) => Effect.Effect<Visit, never, Scope.Scope> }
>()("agent-memory/test/support/Browser") {
  static readonly layer = Layer.effect(
    Browser,
    Effect.gen(function* () {
      const executablePath = inject("chromium")
      const browser = yield* Effect.promise(
        () => (started ??= chromium.launch({ executablePath, args: launchArguments() }))
      )
      return Browser.of({ visit: (visitor = {}) => visit(browser, visitor) })
    })
  )
}

/** The browser of all suites of a worker, which ends with the worker: to start one takes seconds. */
let started: Promise<Chromium> | undefined

const visit = Effect.fnUntraced(function* (browser: Chromium, visitor: Visitor) {
  const { colorScheme = "light", hasOwnClock = false, height = 800, javaScript = true, width = 1440 } = visitor
  const context = yield* Effect.acquireRelease(
    Effect.promise(() =>
      browser.newContext({
        colorScheme,
        viewport: { width, height },
        javaScriptEnabled: javaScript,
        acceptDownloads: true,
        permissions: ["clipboard-read", "clipboard-write"]
      })
    ),
    (context) => Effect.promise(() => context.close())
  )
  const requests: Array<string> = []
  const complaints: Array<string> = []
  context.on("request", (request) => void requests.push(request.url()))
  context.on("weberror", (error) => void complaints.push(String(error.error())))
  context.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())))
  const page = yield* Effect.promise(() => context.newPage())
  page.setDefaultTimeout(10_000)
  if (hasOwnClock) yield* Effect.promise(() => page.clock.install())
  return { page, requests, complaints } satisfies Visit
})

/** What axe-core finds wrong with the page as it is, a line each: the rule, the place and the reason. */
export const accessibilityFaults = (page: Page): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () => {
    await page.evaluate(axe.source)
    return await page.evaluate(`axe.run(document).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ failureSummary, target }) => id + " at " + target.join(" ") + ": " + failureSummary)))`)
  })

/** How many pixels the page can be scrolled sideways; it should be none. */
export const sidewaysScroll = (page: Page): Effect.Effect<number> =>
  Effect.promise(() => page.evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`))

/** A suite of tests with a browser, skipped where there is none. */
export const browserSuite = <R, E>(
  name: string,
  services: Layer.Layer<R, E>,
  define: (it: Vitest.MethodsNonLive<R | Browser>) => void
): void => {
  if (inject("chromium") === "") describe(name, () => vitest.skip("needs a Chromium", () => undefined))
  else layer(Layer.merge(services, Browser.layer), { excludeTestServices: true, timeout: 60_000 })(name, define)
}
