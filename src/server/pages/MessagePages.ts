import { html, type Html, type HtmlValue } from "../doors/Html.ts"
import { page } from "./Page.ts"

/** A narrow page that search engines may not list, as everything is that belongs to one person. */
export const narrowPage = (title: string, main: HtmlValue, styles: ReadonlyArray<string> = []): Html =>
  page({ title, robots: "noindex", styles, main: html`<main class="narrow">${main}</main>` })

/** A page that says one thing and what to do about it. The heading is the title, unless it is given. */
export const messagePage = (title: string, body: Html, heading: HtmlValue = title): Html =>
  narrowPage(title, html`<h1>${heading}</h1>\n${body}`)

/** `1 minute`, `5 minutes`. */
export const minutesText = (minutes: number): string => (minutes === 1 ? "1 minute" : `${minutes} minutes`)

const signIn = html`<a href="/sign-in">sign in</a>`

/** The page for an address that nothing is at. */
export const notFoundPage = (): Html =>
  messagePage(
    "Page not found",
    html`<p class="lead">There is nothing at this address. It may be mistyped, or cut off.</p>
<p>Go to the <a href="/">front page</a> or the <a href="/docs">documentation</a>.</p>`
  )

/** The page while the database can't be reached. */
export const unavailablePage = (input: { readonly href: string }): Html =>
  messagePage(
    "Service unavailable",
    html`<p class="lead">The service can't reach its database. This usually takes only a few seconds.</p>
<p class="actions"><a class="button primary" href="${input.href}">Try again</a></p>`
  )

/** The page for a browser without a sign-in in progress. */
export const noSignInPage = (): Html =>
  messagePage(
    "Start the sign-in again",
    html`<p class="lead">This browser has no sign-in in progress. It was completed, it expired, or the browser blocks cookies.</p>
<p>Go back to the app that sent you here and connect again, or ${signIn}. Allow cookies for this site.</p>`
  )

/** The page for a sign-in that would lead to an address outside the service. */
export const noReturnPage = (): Html =>
  messagePage(
    "This sign-in has no destination",
    html`<p class="lead">The form doesn't say what you are signing in to, or names an address that isn't allowed.</p>
<p>Go back to the app that sent you here and connect again, or ${signIn}.</p>`
  )

/** The page for a form that another site's page sent. */
export const crossSitePage = (): Html =>
  messagePage(
    "Another site sent this form",
    html`<p class="lead">Nothing was done. Agent Memory accepts forms only from its own pages.</p>
<p>If you were signing in, go back to the app you started from and connect again, or ${signIn}.</p>`
  )

const unread = {
  late: "It did not arrive in time, perhaps because the connection is slow.",
  "too large": "It is larger than a form can be here.",
  unreadable: "It arrived incomplete, or not as a form."
}

/** The page for a form that can't be read. */
export const unreadFormPage = (reason: keyof typeof unread): Html =>
  messagePage(
    "The form could not be read",
    html`<p class="lead">${unread[reason]} Nothing was done.</p>
<p>Go back in your browser and send it again.</p>`
  )

/** The page for an address that opens pages and sends forms faster than people do. Wait in seconds. */
export const floodPage = (retryAfter: number): Html =>
  messagePage(
    "Too many requests from your network",
    html`<p class="lead">Nothing was done. Wait ${retryAfter === 1 ? "1 second" : `${retryAfter} seconds`}, then try again.</p>`
  )

/** The page for a start address with another secret than the service's. */
export const wrongSecretPage = (): Html =>
  messagePage(
    "Wrong local secret",
    html`<p class="lead">Open the address that the service printed when it started. It ends with <code>/?local=</code> and the
secret, which is also in the file <code>local-secret</code> in the service's <code>DATA_DIR</code>.</p>
<p>Without it everything works except showing sign-in links and codes: <a href="/">go to the front page</a>.</p>`
  )
