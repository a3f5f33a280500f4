import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { LocalSecret } from "../../accounts/LocalSecret.ts"
import { Settings } from "../../Config.ts"
import { configurationPage } from "../docs/ConfigurationPage.ts"
import { deploymentPage, securityPage } from "../docs/DocumentPages.ts"
import { errorsPage } from "../docs/ErrorsPage.ts"
import { groupIds, groups } from "../docs/OpenApi.ts"
import { groupPage, overviewPage, searchIndex } from "../docs/ReferencePages.ts"
import { toolsPage } from "../docs/ToolsPage.ts"
import { localEntry } from "../LocalEntry.ts"
import { publicPageHeaders } from "../Page.ts"
import { serveFile, textFile } from "../StaticFile.ts"
import { guideMarkdown, guidePage, llmsText, robotsText } from "./Guide.ts"
import { homePage } from "./HomePage.ts"
import { installPage } from "./InstallPage.ts"
import { Totals } from "./Totals.ts"

/** The site: what this is, how to begin, and the reference. Pages are made once, compressed, and the same for everybody. */
export const SiteRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    const { baseUrl, limits, localMode, loopback } = settings
    const secret = yield* LocalSecret
    const totals = yield* Totals

    const groupOf = (id: string) => groups().find((group) => group.id === id)!
    const html = (text: string) => textFile("text/html; charset=utf-8", text)
    const files = {
      "/install": () => html(installPage({ baseUrl, loopback })),
      "/how-to-use": () => html(guidePage()),
      "/docs": () => html(overviewPage(baseUrl, limits.idempotencyHours)),
      "/docs/tools": () => html(toolsPage(baseUrl, limits)),
      "/docs/errors": () => html(errorsPage()),
      "/docs/configuration": () => html(configurationPage()),
      "/docs/deployment": () => html(deploymentPage()),
      "/docs/security": () => html(securityPage()),
      "/docs/search.json": () => textFile("application/json", searchIndex(limits)),
      "/llms.txt": () => textFile("text/plain; charset=utf-8", llmsText(baseUrl)),
      "/llms.md": () => textFile("text/markdown; charset=utf-8", guideMarkdown({ baseUrl, limits, localMode })),
      "/robots.txt": () => textFile("text/plain; charset=utf-8", robotsText),
      ...Object.fromEntries(groupIds.map((id) => [`/docs/${id}`, () => html(groupPage(groupOf(id), baseUrl))]))
    }
    for (const [path, make] of Object.entries(files)) {
      const file = yield* Effect.cached(Effect.sync(make))
      yield* router.add(
        "GET",
        path as `/${string}`,
        Effect.flatMap(file, (file) => serveFile(file, publicPageHeaders))
      )
    }

    const home = yield* Effect.cachedWithTTL(
      Effect.map(totals.current, (totals) => html(homePage({ baseUrl, limits, localMode, totals }))),
      "1 minute"
    )
    yield* router.add(
      "GET",
      "/",
      Effect.gen(function* () {
        const entered = localEntry(yield* HttpServerRequest.HttpServerRequest, settings, secret)
        return entered ?? (yield* serveFile(yield* home, publicPageHeaders))
      })
    )
  })
).pipe(Layer.provide(Totals.layer))
