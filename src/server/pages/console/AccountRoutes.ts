import { Effect, Layer, Result, Schema } from "effect"
import { numberText, sizeText } from "../../../domain/Amounts.ts"
import { KeyName, type ApiKey, type CreatedApiKey } from "../../../domain/Key.ts"
import { AccountDeletion } from "../../accounts/AccountDeletion.ts"
import { withoutSession } from "../../accounts/browser/Cookies.ts"
import { Sessions, type BrowserSession } from "../../accounts/browser/Sessions.ts"
import { Notices } from "../../accounts/Notices.ts"
import { Settings } from "../../config/Settings.ts"
import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { Keys } from "../../keys/Keys.ts"
import { Tables } from "../../tables/Tables.ts"
import { clientName } from "../ConsentPage.ts"
import { narrowPage } from "../Page.ts"
import { seeOther } from "../PrivatePage.ts"
import { makeConsole, type Person } from "./Console.ts"
import {
  accountPage,
  accountResponse,
  bar,
  bytesText,
  fault,
  freshSignInPage,
  isStale,
  notice,
  proofField,
  question,
  timeHtml
} from "./Frame.ts"

const session = ({ createdAt, isThis, lastUsedAt }: BrowserSession): Html =>
  html`<li>${isThis && html`<strong>This browser</strong>, `}signed in ${timeHtml(createdAt.toISOString())}, last used ${timeHtml(lastUsedAt.toISOString())}</li>\n`

/** The page of the account, and the forms that sign browsers out and delete it. */
export const AccountRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const tables = yield* Tables
    const deletion = yield* AccountDeletion
    const settings = yield* Settings
    const console = yield* makeConsole

    /** Who the person is, what the account uses, and where it is signed in; `problem` says why it was not deleted. */
    const show = Effect.fnUntraced(function* (
      { accountId, actor, email, proof, token }: Person,
      { problem, result }: { readonly result?: string; readonly problem?: string } = {}
    ) {
      const { limits } = settings
      const totals = yield* tables.totals(actor)
      const browsers = yield* sessions.list(accountId, token)
      const others = browsers.filter(({ isThis }) => !isThis).length
      const page = accountPage(
        "Account",
        { current: "/account" },
        html`<h1>Account</h1>
<p class="lead">You are signed in as <strong>${email}</strong>.</p>
${notice(result)}
<form class="actions" method="post" action="/sign-out">
${proofField(proof)}
<button type="submit">Sign out</button>
</form>
<h2>Usage</h2>
${bar("Tables", totals.tables, limits.tables, numberText)}
${bar("Storage", totals.storage_bytes, limits.storageBytes, bytesText)}
${bar("Storage of versions", totals.version_bytes, limits.versionStorageBytes, bytesText)}
<p class="muted small">When the storage of versions is full, the oldest versions are removed. A table can have ${numberText(limits.rowsPerTable)} rows, and a row ${sizeText(limits.rowBytes)}.</p>
<h2>Browsers signed in</h2>
<ul>
${browsers.map(session)}</ul>
${
  others > 0 &&
  question(
    "Sign out all others",
    "Sign out all other browsers? Whoever uses them has to sign in again. API keys and connected apps stay.",
    html`<form method="post" action="/sign-out">
${proofField(proof)}
<button type="submit" name="others" value="1">Sign out all others</button>
</form>`
  )
}
<h2>Your data</h2>
<p>Everything that your agents stored, as one JSON file. <a href="/tables/_import">Import</a> takes it back.</p>
<p class="actions"><a class="button" href="/tables/_export" download>Export all</a></p>
<h2>Delete the account</h2>
<p>All tables, rows, versions, keys, connected apps and links go at once, and nothing can be brought back.</p>
<details class="question"${problem !== undefined && " open"}><summary class="button">Delete the account</summary>
<form class="card" method="post" action="/account/_delete">
${proofField(proof)}${fault(problem, "delete-fault")}
<div class="form-field"><label for="delete-email">Type ${email} to confirm</label><input id="delete-email" name="email" type="email" required autocomplete="off"></div>
<button class="danger" type="submit">Delete everything</button>
</form></details>`
      )
      return accountResponse(page, problem === undefined ? 200 : 400)
    })

    yield* console.page("/account", function* (person, query) {
      return yield* show(person, query.get("others") === "out" ? { result: "All other browsers are signed out." } : {})
    })

    yield* console.form("/account/_delete", function* (person, fields) {
      const { actor, email } = person
      if (isStale(person)) {
        const why = "Nothing that is deleted with your account can be brought back, so sign in once more before."
        return accountResponse(freshSignInPage(email, "/account", why), 403)
      }
      const typed = (fields.get("email") ?? "").trim().toLowerCase()
      if (typed !== email.toLowerCase()) {
        return yield* show(person, { problem: `Nothing was deleted: type ${email} to confirm.` })
      }
      yield* deletion.deleteAccount(actor, email)
      const page = narrowPage(
        "Your account was deleted",
        html`<h1>Your account was deleted</h1>
<p class="lead">Nothing of it is stored any more. An email confirms it.</p>
<p class="actions"><a class="button" href="/">Go to the front page</a></p>`
      )
      return withoutSession(accountResponse(page), settings)
    })

    yield* console.form("/sign-out", function* ({ accountId, token }, fields) {
      if (fields.get("others") === "1") {
        yield* sessions.endOthers(accountId, token)
        return seeOther("/account?others=out")
      }
      yield* sessions.end(token)
      return withoutSession(seeOther("/"), settings)
    })
  })
)

const when = (timestamp: string | null): Html => (timestamp === null ? html`Never` : timeHtml(timestamp))

const activeKey = ({ created_at, id, last_used_at, name, prefix }: ApiKey, proof: string): Html =>
  html`<li class="card connection"><div><h2>${clientName(name)}</h2><dl>
<div><dt>Begins with</dt><dd><code>${prefix}…</code></dd></div>
<div><dt>Created</dt><dd>${when(created_at)}</dd></div>
<div><dt>Last used</dt><dd>${when(last_used_at)}</dd></div>
</dl></div>
${question(
  html`Revoke<span class="visually-hidden"> ${clientName(name)}</span>`,
  html`Revoke ${clientName(name)}? Programs that use it are refused at once, and the links it made expire. This can't be taken back.`,
  html`<form method="post" action="/keys/_revoke">${proofField(proof)}<input type="hidden" name="id" value="${id}"><button class="danger" type="submit">Revoke ${clientName(name)}</button></form>`
)}</li>\n`

const newKeyPage = ({ api_key, name }: CreatedApiKey, baseUrl: string): Html =>
  accountPage(
    "Your new API key",
    { current: "/keys" },
    html`<h1>The key ${clientName(name)}</h1>
<p class="warning">Copy the key now. It is shown only once and stored nowhere.</p>
<div class="key-field"><label class="visually-hidden" for="api-key">Your new API key</label><input id="api-key" data-copy readonly autocomplete="off" spellcheck="false" value="${api_key}"></div>
${codeBlock(".env", `AGENT_MEMORY_API_KEY=${api_key}`)}
${codeBlock("Add a row", `curl '${baseUrl}/v1/notes' \\\n  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"text":"hello"}'`)}
<ul>
<li>Keep it in a server’s environment or a secret store, never in a web page, an app that others install, or a repository.</li>
<li>Give each program its own key, so that you can revoke each one separately.</li>
</ul>
<p><a class="button" href="/keys">I have copied it</a></p>`
  )

const isKeyName = Schema.is(KeyName)

/** The page of API keys, and the forms that create and revoke one. */
export const KeysRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const keys = yield* Keys
    const notices = yield* Notices
    const { baseUrl } = yield* Settings
    const console = yield* makeConsole

    /** The API keys, and the form for a new one; `typed` is a name with what is wrong with it. */
    const show = Effect.fnUntraced(function* (
      { actor, proof }: Person,
      { result, typed }: { readonly result?: string | undefined; readonly typed?: { name: string; problem: string } }
    ) {
      const all = (yield* keys.list(actor)).toReversed()
      const active = all.filter(({ revoked_at }) => revoked_at === null)
      const revoked = all.filter(({ revoked_at }) => revoked_at !== null)
      const page = accountPage(
        "API keys",
        { current: "/keys" },
        html`<h1>API keys</h1>
<p class="lead">Programs use a key to reach your tables over REST. Agents that connect over MCP need none.</p>
${notice(result)}
<form class="card" method="post" action="/keys">
${proofField(proof)}${fault(typed?.problem, "key-fault")}
<div class="form-field"><label for="key-name">Name of a new key</label><input id="key-name" name="name" value="${typed?.name ?? ""}" required maxlength="80" placeholder="shop, production" autocomplete="off"${typed && html` aria-describedby="key-fault" aria-invalid="true"`}></div>
<button class="primary" type="submit">Create a key</button>
</form>
<h2>Active keys</h2>
${active.length === 0 ? html`<p>There is none.</p>` : html`<ul class="connections">${active.map((key) => activeKey(key, proof))}</ul>`}
${
  revoked.length > 0 &&
  html`<details><summary>Revoked keys</summary><ul>${revoked.map(({ name, prefix, revoked_at }) => html`<li>${clientName(name)} <code>${prefix}…</code>, revoked ${when(revoked_at)}</li>`)}</ul></details>`
}`
      )
      return accountResponse(page, typed === undefined ? 200 : 400)
    })

    yield* console.page("/keys", function* (person, query) {
      const revoked = query.get("revoked")
      const result =
        revoked === "1" ? "The key is revoked." : revoked === "0" ? "That key was already revoked." : undefined
      return yield* show(person, { result })
    })

    yield* console.form("/keys", function* (person, fields) {
      const name = (fields.get("name") ?? "").trim()
      const { accountId, actor, email } = person
      if (!isKeyName(name))
        return yield* show(person, { typed: { name, problem: "Enter a name of 1 to 80 characters." } })
      if (isStale(person)) {
        const why = "A key gives access to your whole account, so sign in once more before you create one."
        return accountResponse(freshSignInPage(email, "/keys", why), 403)
      }
      const created = yield* Effect.result(keys.create(actor, name))
      if (Result.isFailure(created)) {
        const { failure } = created
        if (failure.status === 503) return yield* failure
        return yield* show(person, { typed: { name, problem: failure.detail ?? "No key was created." } })
      }
      yield* notices.keyAdded(accountId, created.success)
      return accountResponse(newKeyPage(created.success, baseUrl))
    })

    yield* console.form("/keys/_revoke", function* ({ actor }, fields) {
      return seeOther(`/keys?revoked=${yield* keys.revoke(actor, fields.get("id") ?? "")}`)
    })
  })
)
