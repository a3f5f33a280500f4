import type { Connection } from "../../../domain/Actor.ts"
import { html, type Html } from "../../doors/Html.ts"
import { accessChoice, clientName, type ConsentChoice } from "../ConsentPage.ts"
import { accountPage, fault, proofField } from "./Frame.ts"

/** What a person calls an app at most, in characters. */
export const longestAppName = 80

/** A connected app: what its person calls it, and what it may do. */
export const appPage = (input: {
  readonly app: Connection
  readonly tables: ReadonlyArray<string>
  readonly proof: string
  readonly typed?: { readonly name: string; readonly chosen: ConsentChoice; readonly problem: string } | undefined
}): Html => {
  const { app, proof, tables, typed } = input
  const chosen = typed?.chosen ?? { access: app.access, tables: app.tables ?? [], otherTables: "" }
  return accountPage({
    title: "Change an app",
    current: "/apps",
    main: html`<p class="crumbs"><a href="/apps">Connected apps</a></p>
<h1>${clientName(app.client_name)}</h1>
${fault(typed?.problem)}
<form class="card" method="post" action="/apps/${app.id}">
${proofField(proof)}
<div class="form-field"><label for="app-name">Name</label><input id="app-name" name="name" value="${typed?.name ?? app.client_name}" required maxlength="${longestAppName}" autocomplete="off"><p class="small muted">To tell apps apart. The activity shows this name from now on.</p></div>
${accessChoice({ tables, chosen })}
<div class="actions"><button class="primary" type="submit">Save</button><a class="button" href="/apps">Cancel</a></div>
<p class="small muted">Its next call goes by this. Links that it made before stay until they expire.</p>
</form>`
  })
}
