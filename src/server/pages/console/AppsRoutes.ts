import { Effect, Layer, Result } from "effect"
import { HttpRouter } from "effect/http"
import type { AccountId } from "../../../domain/Account.ts"
import type { Connection } from "../../../domain/Actor.ts"
import { NotFound } from "../../../domain/Problem.ts"
import { Settings } from "../../config/Settings.ts"
import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { problemResponse } from "../../doors/RenderProblem.ts"
import { route } from "../../doors/Routes.ts"
import { Grants } from "../../oauth/Grants.ts"
import { Tables } from "../../tables/Tables.ts"
import { accessChoice, choiceOf, clientName, grantOf, type ConsentChoice } from "../ConsentPage.ts"
import { seeOther } from "../PrivatePage.ts"
import { makeConsole, type Person } from "./Console.ts"
import { accountPage, accountResponse, fault, notice, proofField, question, timeHtml } from "./Frame.ts"

const access = ({ access, tables }: Connection): Html => {
  switch (access) {
    case "full":
      return html`Everything, in all tables`
    case "read":
      return html`Read only, all tables`
    case "tables":
      return html`Only ${(tables ?? []).map((name, index) => html`${index > 0 && ", "}<code>${name}</code>`)}`
  }
}

/** Apps name themselves, so several may have one name: then each is numbered in the order in which they were connected. */
const numbered = (connections: ReadonlyArray<Connection>): ReadonlyArray<readonly [Connection, Html]> => {
  const counts = new Map<string, number>()
  return connections.map((item) => {
    const nth = (counts.get(item.client_name) ?? 0) + 1
    counts.set(item.client_name, nth)
    const isOne = connections.every((other) => other === item || other.client_name !== item.client_name)
    return [item, isOne ? clientName(item.client_name) : html`${clientName(item.client_name)} ${nth}`]
  })
}

const connection = (item: Connection, name: Html, proof: string): Html => html`<li class="card connection">
<div>
<h2>${name}</h2>
<dl>
<div><dt>Access</dt><dd>${access(item)}</dd></div>
<div><dt>Connected</dt><dd>${timeHtml(item.created_at)}</dd></div>
<div><dt>Last used</dt><dd>${item.last_used_at === null ? "Never" : timeHtml(item.last_used_at)}</dd></div>
</dl>
<p class="small"><a href="/apps/${item.id}">Change name or access</a> · <a href="/activity?by=${item.id}">What it changed</a></p>
</div>
${question(
  html`Disconnect<span class="visually-hidden"> ${name}</span>`,
  html`Disconnect ${name}? Its next call is refused, and the links it made expire. The data it stored stays.`,
  html`<form method="post" action="/apps">
${proofField(proof)}
<input type="hidden" name="id" value="${item.id}">
<button class="danger" type="submit">Disconnect ${name}</button>
</form>`
)}
</li>\n`

const none = (baseUrl: string): Html =>
  html`<p>No apps are connected. Give your agent this address, and sign in when it opens your browser.
<a href="/install">Setup for each client</a>.</p>
${codeBlock("MCP address", `${baseUrl}/mcp`)}`

/** The apps that may use an account, each with a button that disconnects it. */
export const appsPage = (input: {
  readonly email: string
  readonly connections: ReadonlyArray<Connection>
  readonly proof: string
  readonly baseUrl: string
  /** The result of a disconnection. */
  readonly disconnected?: string | undefined
}): Html => {
  const { baseUrl, connections, disconnected, email, proof } = input
  return accountPage(
    "Connected apps",
    { current: "/apps" },
    html`<h1>Connected apps</h1>
<p class="lead">These apps can use the Agent Memory of <strong>${email}</strong>.</p>
${notice(disconnected)}
${
  connections.length === 0
    ? none(baseUrl)
    : html`<ul class="connections">
${numbered(connections).map(([item, name]) => connection(item, name, proof))}</ul>
<p class="muted">A disconnected app can ask for access again. <a href="/install">Connect another app</a>.</p>`
}`
  )
}

/** What a person calls an app at most, in characters. */
const longestAppName = 80

const results = new Map([
  ["saved", "Saved. The app’s next call goes by it."],
  ["1", "The app is disconnected. Its next call is refused, and its links have expired."],
  ["0", "That app was already disconnected."]
])

/** The pages of connected apps, and the forms that change or disconnect one. */
export const AppsRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const grants = yield* Grants
    const tables = yield* Tables
    const { baseUrl } = yield* Settings
    const console = yield* makeConsole

    yield* console.page("/apps", function* ({ accountId, email, proof }, query) {
      const connections = yield* grants.list(accountId)
      return accountResponse(
        appsPage({
          email,
          connections,
          proof,
          baseUrl,
          disconnected: results.get(query.get("done") ?? query.get("disconnected") ?? "")
        })
      )
    })

    yield* console.form("/apps", function* ({ accountId }, fields) {
      const revoked = yield* grants.revoke(accountId, fields.get("id") ?? "")
      return seeOther(`/apps?disconnected=${revoked === 0 ? 0 : 1}`)
    })

    const appOf = Effect.fnUntraced(function* (accountId: AccountId) {
      const { id } = yield* HttpRouter.params
      const app = (yield* grants.list(accountId)).find((one) => one.id === id)
      return (
        app ?? (yield* new NotFound({ detail: "No connected app has this address. It may have been disconnected." }))
      )
    })

    /** What its person calls an app, and what it may do. */
    const show = Effect.fnUntraced(function* (
      { actor, proof }: Person,
      app: Connection,
      typed?: { readonly name: string; readonly chosen: ConsentChoice; readonly problem: string }
    ) {
      const names = yield* tables.names(actor)
      const chosen = typed?.chosen ?? { access: app.access, tables: app.tables ?? [], otherTables: "" }
      const page = accountPage(
        "Change an app",
        { current: "/apps" },
        html`<p class="crumbs"><a href="/apps">Connected apps</a></p>
<h1>${clientName(app.client_name)}</h1>
${fault(typed?.problem)}
<form class="card" method="post" action="/apps/${app.id}">
${proofField(proof)}
<div class="form-field"><label for="app-name">Name</label><input id="app-name" name="name" value="${typed?.name ?? app.client_name}" required maxlength="${longestAppName}" autocomplete="off"><p class="small muted">To tell apps apart. The activity shows this name from now on.</p></div>
${accessChoice({ tables: names, chosen })}
<div class="actions"><button class="primary" type="submit">Save</button><a class="button" href="/apps">Cancel</a></div>
<p class="small muted">Its next call goes by this. Links that it made before stay until they expire.</p>
</form>`
      )
      return accountResponse(page, typed === undefined ? 200 : 400)
    })

    yield* console.page("/apps/:id", function* (person) {
      return yield* show(person, yield* appOf(person.accountId))
    })

    yield* console.form("/apps/:id", function* (person, fields) {
      const { accountId } = person
      const app = yield* appOf(accountId)
      const name = (fields.get("name") ?? "").trim()
      const chosen = choiceOf(fields)
      const again = (problem: string) => show(person, app, { name, chosen, problem })
      if (name === "" || name.includes("\0") || name.length > longestAppName) {
        return yield* again(`Give the app a name of up to ${longestAppName} characters.`)
      }
      const grant = grantOf(chosen)
      if (Result.isFailure(grant)) return yield* again(grant.failure)
      yield* grants.change(accountId, app.id, { name, ...grant.success })
      return seeOther("/apps?done=saved")
    })

    // Mails have led here.
    yield* route({
      method: "GET",
      path: "/connections",
      render: problemResponse,
      *handle() {
        return seeOther("/apps")
      }
    })
  })
)
