import { type Limits, fillLimits } from "../../../domain/Limits.ts"
import { numberText } from "../../../domain/Amounts.ts"
import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { page, wrongSecretPage, publicPageHeaders, withSignedInHeader } from "../Page.ts"
import { limitFacts, guideMarkdown, guidePage, llmsText, robotsText } from "./Guide.ts"
import { clients, restExamples, installPage } from "./InstallPage.ts"
import { Effect, Layer, Option } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { Settings } from "../../config/Settings.ts"
import { LocalSecret, withLocalUser } from "../../doors/LocalSecret.ts"
import { route, Routes } from "../../doors/Routes.ts"
import { currentSession, hasSession } from "../../accounts/browser/Cookies.ts"
import type { Sessions } from "../../accounts/browser/Sessions.ts"
import { serveFile, textFile, type StaticFile } from "../Assets.ts"
import { configurationPage, groupPage, overviewPage, searchIndex, toolsPage } from "../docs/ReferencePages.ts"
import { documentPages } from "../docs/Documents.ts"
import { documentPage } from "../docs/DocsPage.ts"
import { errorsPage } from "../docs/ErrorsPage.ts"
import { groupIds, groups } from "../docs/OpenApi.ts"
import { errorPage, errorPageOrProblem } from "../ErrorPages.ts"
import { privatePage, queryOf, seeOther } from "../PrivatePage.ts"

const kinds = [
  {
    name: "Preferences",
    why: "What a person likes, so that no agent asks twice.",
    table: "preferences",
    row: '{"person": "Ada", "topic": "coffee", "value": "black"}'
  },
  {
    name: "Tasks",
    why: "What is open, across sessions and agents.",
    table: "tasks",
    row: '{"title": "Renew the passport", "due": "2027-03-01", "done": false}'
  },
  {
    name: "Decisions",
    why: "What was decided, and why.",
    table: "decisions",
    row: '{"question": "Which queue?", "answer": "Postgres", "because": "one thing less to run"}'
  },
  {
    name: "Documents",
    why: "Markdown that people open, correct and save.",
    table: "memories",
    row: '{"type": "markdown", "title": "Release notes", "content": "# 2.4\\n\\n- Faster start"}'
  },
  {
    name: "Code and commands",
    why: "Text to look up. It is never run here.",
    table: "memories",
    row: '{"type": "command", "title": "Free port 3000", "shell": "bash", "content": "fuser -k 3000/tcp"}'
  },
  {
    name: "Logs",
    why: "What happened, one row per event.",
    table: "runs",
    row: '{"job": "backup", "ok": true, "seconds": 41.7}'
  }
]

const history: ReadonlyArray<readonly [what: string, row: string]> = [
  ["Added", '{"title": "Renew the passport", "done": false}'],
  ["Changed", '{"title": "Renew the passport", "done": true}'],
  ["Deleted", "removed, but kept in the history"],
  ["Restored version 1", '{"title": "Renew the passport", "done": false}']
]

const printedMail = html` This service runs for its own machine and sends no mail: it prints the code in the terminal where it was started. To see codes in the browser, open the address printed there, which ends with <code>/?local=</code> and a secret.`

/** The first step: the sign-in, which works without scripts. */
const startCard = (localMode: boolean): Html => html`<div class="start card" id="start" tabindex="-1">
<h2>Begin with your email address</h2>
<form method="post" action="/sign-in/email">
<input type="hidden" name="return_to" value="/tables">
<label for="email">Email address</label>
<div class="field-row"><input id="email" name="email" type="email" autocomplete="email" maxlength="254" required placeholder="you@example.com" aria-describedby="start-hint"><button class="primary" type="submit">Get a code</button></div>
<p class="small muted" id="start-hint">We email you a 6-digit code and a link. There is no password. If you are new here, this creates your account.${localMode && printedMail}</p>
</form>
<ol class="steps"><li>Sign in and see your tables.</li><li>Connect an agent, or add a row by hand.</li><li>See what changed, and take it back.</li></ol>
</div>`

const limitsTable = (limits: Limits): Html => html`<table class="limits">
<thead><tr><th scope="col">What</th><th scope="col">Limit</th></tr></thead>
<tbody>${limitFacts(limits).map(([what, value]) => html`<tr><th scope="row">${what}</th><td>${value}</td></tr>`)}</tbody>
</table>`

/** The front page: what this is, a start with real requests, and what to expect. */
const homePage = ({ baseUrl, limits, localMode }: Settings["Service"]): Html => {
  const commandLine = clients(`${baseUrl}/mcp`).filter(({ id }) => ["claude-code", "codex", "gemini-cli"].includes(id))
  return page({
    title: "Agent Memory: tables your agents remember in",
    description: "Small durable JSON tables for AI agents, over MCP and REST. Every change can be undone.",
    robots: "index",
    current: "/",
    styles: ["home.css"],
    scripts: ["home.js"],
    main: html`<main class="wide home">
<section class="hero">
<div>
<h1>Tables your agents remember in</h1>
<p class="lead">Agents add, query and change small JSON rows over MCP or REST. Rows come back exactly as stored, and every change can be undone.</p>
<p class="actions"><a class="button primary" href="/sign-in">Sign in</a><a class="button" href="/install">Connect an agent</a></p>
</div>
${startCard(localMode)}
</section>

<section aria-labelledby="connect"><h2 id="connect">Connect</h2>
<div class="tabs" data-tabs>
<section id="for-agents"><h3>Agents</h3>
<p>One address for every MCP client. The client opens your browser to sign in. There is no key to paste.</p>
<div class="blocks">${codeBlock("MCP address", `${baseUrl}/mcp`)}
${commandLine.map(({ blocks, name }) => codeBlock(name, blocks[0]?.[1] ?? ""))}</div>
<p><a href="/install">Claude on the web, ChatGPT, Cursor, VS Code and others</a></p></section>
<section id="for-code"><h3>Code</h3>
<p>Your own programs use REST with an API key. <a href="/docs#reference">API reference</a></p>
<div class="blocks">${restExamples(baseUrl).map(([language, text]) => codeBlock(language, text))}</div></section>
</div></section>

<section aria-labelledby="kinds"><h2 id="kinds">What agents keep here</h2>
<p>A row is any JSON object. Adding the first row creates the table, so there is no schema to plan.</p>
<ul class="kinds">${kinds.map(
      ({ name, row, table, why }) => html`<li><h3>${name}</h3><p>${why}</p>
<p class="row-example"><span>${table}</span><code>${row}</code></p></li>\n`
    )}</ul></section>

<section aria-labelledby="undo"><h2 id="undo">Every edit can be undone</h2>
<p>Each update and delete archives the row first. A row keeps its last ${numberText(limits.versionsPerRow)} versions for ${numberText(limits.versionDays)} days, and restoring one can itself be undone.</p>
<ol class="history">${history.map(([what, row]) => html`<li><strong>${what}</strong><code>${row}</code></li>`)}</ol></section>

<section aria-labelledby="limits"><h2 id="limits">Limits</h2>
<p>Rows are small on purpose: an agent reads a row whole.</p>
${limitsTable(limits)}</section>

<section aria-labelledby="self"><h2 id="self">Run it yourself</h2>
<p>One process and no setup: it brings its own PostgreSQL, or uses yours. The <a href="/docs/quick-start">quick start</a> goes on from here. In a clone of the repository:</p>
<div class="blocks">${codeBlock("Start it at http://localhost:3000", "npm ci && npm start")}
${codeBlock("Or with your own database and address", "DATABASE_URL=postgres://user:password@host:5432/memory?sslmode=verify-full \\\nBASE_URL=https://memory.example.com \\\nSMTP_URL=smtps://user:password@mail.example.com \\\nnpm start")}</div></section>
</main>`
  })
}

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

    const home = yield* Effect.cached(Effect.sync(() => html(homePage(settings))))
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
  const given = queryOf(request).get("local")
  if (given === null) return undefined
  if (!secret.matches(given)) return privatePage(wrongSecretPage(), 403)
  const home = HttpServerResponse.redirect("/", { status: 303, headers: { "referrer-policy": "no-referrer" } })
  return withLocalUser(home, given, settings)
}
