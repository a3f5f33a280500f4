import { numberText, sizeText } from "../../../domain/Amounts.ts"
import type { Limits } from "../../../domain/Limits.ts"
import type { BrowserSession } from "../../accounts/browser/Sessions.ts"
import { html, type Html } from "../../doors/Html.ts"
import type { Totals } from "../../tables/Tables.ts"
import { accountPage, fault, notice, proofField, question, timeHtml } from "./Frame.ts"
import { bar, bytesText } from "./UsageBar.ts"

const session = ({ createdAt, isThis, lastUsedAt }: BrowserSession): Html =>
  html`<li>${isThis && html`<strong>This browser</strong>, `}signed in ${timeHtml(createdAt.toISOString())}, last used ${timeHtml(lastUsedAt.toISOString())}</li>\n`

/** Who the person is, what the account uses, and where it is signed in. */
export const settingsPage = (input: {
  readonly email: string
  readonly totals: Totals
  readonly limits: Limits
  readonly sessions: ReadonlyArray<BrowserSession>
  readonly proof: string
  readonly result?: string | undefined
  /** Why the account was not deleted. */
  readonly problem?: string | undefined
}): Html => {
  const { email, limits, problem, proof, result, sessions, totals } = input
  const others = sessions.filter(({ isThis }) => !isThis).length
  return accountPage({
    title: "Account",
    current: "/account",
    main: html`<h1>Account</h1>
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
${sessions.map(session)}</ul>
${
  others > 0 &&
  question({
    button: "Sign out all others",
    text: "Sign out all other browsers? Whoever uses them has to sign in again. API keys and connected apps stay.",
    form: html`<form method="post" action="/sign-out">
${proofField(proof)}
<button type="submit" name="others" value="1">Sign out all others</button>
</form>`
  })
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
  })
}
