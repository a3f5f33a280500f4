import { Effect, Layer, Option } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { fillLimits } from "../../../domain/Limits.ts"
import { Settings } from "../../config/Settings.ts"
import { LocalSecret, withLocalUser } from "../../doors/LocalSecret.ts"
import { route, Routes } from "../../doors/Routes.ts"
import { currentSession, hasSession } from "../../accounts/browser/Cookies.ts"
import type { Sessions } from "../../accounts/browser/Sessions.ts"
import { serveFile, textFile, type StaticFile } from "../Assets.ts"
import { configurationPage } from "../docs/ConfigurationPage.ts"
import { documentPages } from "../docs/Documents.ts"
import { documentPage } from "../docs/DocsPage.ts"
import { errorsPage } from "../docs/ErrorsPage.ts"
import { groupIds, groups } from "../docs/OpenApi.ts"
import { groupPage, overviewPage, searchIndex, toolsPage } from "../docs/ReferencePages.ts"
import type { Html } from "../../doors/Html.ts"
import { errorPage, errorPageOrProblem } from "../ErrorPages.ts"
import { wrongSecretPage } from "../MessagePages.ts"
import { publicPageHeaders, withSignedInHeader } from "../Page.ts"
import { privatePage, seeOther } from "../PrivatePage.ts"
import { guideMarkdown, guidePage, llmsText, robotsText } from "./Guide.ts"
import { homePage } from "./HomePage.ts"
import { installPage } from "./InstallPage.ts"

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><g fill="#2f8a6c"><rect x="1" y="2" width="18" height="4" rx="1.5"/><rect x="1" y="8" width="18" height="4" rx="1.5" opacity=".7"/><rect x="1" y="14" width="11" height="4" rx="1.5" opacity=".45"/></g></svg>'

const htmlFile = (text: string) => textFile("text/html; charset=utf-8", text)

/** A page has two headers. */
type SiteFile = StaticFile | (StaticFile & { readonly signedIn: StaticFile })

/** Caches keep the two forms of a page apart. */
const pageHeaders = { ...publicPageHeaders, vary: "accept-encoding, cookie" }

/** The public site. Pages are made once, compressed, and are the same for everyone. */
export const SiteRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const { baseUrl, limits, localMode, loopback } = settings
    const secret = yield* LocalSecret
    const context = yield* Effect.context<Sessions | Settings>()

    const groupOf = (id: string) => groups().find((group) => group.id === id)!
    const html = (page: Html) => {
      const text = fillLimits(String(page), limits)
      return { ...htmlFile(text), signedIn: htmlFile(withSignedInHeader(text)) }
    }
    const files = {
      "/install": () => html(installPage({ baseUrl, loopback })),
      "/how-to-use": () => html(guidePage()),
      "/docs": () => html(overviewPage(baseUrl, limits.idempotencyHours)),
      "/docs/tools": () => html(toolsPage(baseUrl, limits)),
      "/docs/errors": () => html(errorsPage()),
      "/docs/configuration": () => html(configurationPage()),
      "/docs/search.json": () => textFile("application/json", searchIndex(limits)),
      "/llms.txt": () => textFile("text/plain; charset=utf-8", llmsText(baseUrl)),
      "/llms.md": () => textFile("text/markdown; charset=utf-8", guideMarkdown({ baseUrl, limits, localMode })),
      "/robots.txt": () => textFile("text/plain; charset=utf-8", robotsText),
      "/favicon.ico": () => textFile("image/svg+xml", icon),
      ...Object.fromEntries(documentPages.map((page) => [`/docs/${page.name}`, () => html(documentPage(page))])),
      ...Object.fromEntries(groupIds.map((id) => [`/docs/${id}`, () => html(groupPage(groupOf(id), baseUrl))]))
    }
    /** Whoever has a session gets the header of the signed in; whether it is still good shows on their own pages. */
    const serve = (request: HttpServerRequest.HttpServerRequest, file: SiteFile) =>
      "signedIn" in file
        ? serveFile(hasSession(request, settings) ? file.signedIn : file, pageHeaders)
        : serveFile(file, publicPageHeaders)

    for (const [path, make] of Object.entries(files)) {
      const file = yield* Effect.cached(Effect.sync(make))
      yield* route({
        method: "GET",
        path: path as `/${string}`,
        render: errorPageOrProblem,
        *handle(request) {
          return yield* serve(request, yield* file)
        }
      })
    }

    const routes = yield* Routes
    routes.showErrors(errorPage)

    const home = yield* Effect.cached(Effect.sync(() => html(homePage({ baseUrl, limits, localMode }))))
    yield* route({
      method: "GET",
      path: "/",
      isPersonal: true,
      render: errorPageOrProblem,
      *handle(request) {
        const entry = localEntry(request, settings, secret)
        if (entry !== undefined) return entry
        if (Option.isSome(yield* Effect.provideContext(currentSession(request), context))) return seeOther("/tables")
        return yield* serve(request, yield* home)
      }
    })
  })
)

/**
 * The response to the address that a service in local mode prints at startup, `/?local=` and its secret: the browser keeps
 * the secret as a cookie, and shows an address without it. None for other addresses.
 */
const localEntry = (
  request: HttpServerRequest.HttpServerRequest,
  settings: Settings["Service"],
  secret: LocalSecret["Service"]
): HttpServerResponse.HttpServerResponse | undefined => {
  if (!settings.localMode) return undefined
  const given = new URLSearchParams(request.url.split("?")[1]).get("local")
  if (given === null) return undefined
  if (!secret.matches(given)) return privatePage(wrongSecretPage(), 403)
  const home = HttpServerResponse.redirect("/", { status: 303, headers: { "referrer-policy": "no-referrer" } })
  return withLocalUser(home, given, settings)
}
