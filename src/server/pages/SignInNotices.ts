import { page } from "./Page.ts"

const connections = '<a href="/connections">your connections</a>'

const notice = (title: string, lines: string): string =>
  page({ title, robots: "noindex", main: `<main class="narrow"><h1>${title}</h1>\n${lines}</main>` })

/** The page for a browser that no sign-in is known of. */
export const noSignInPage = (): string =>
  notice(
    "Begin the sign-in again",
    `<p class="lead">This browser has no sign-in under way: it is finished, too old, or the browser keeps no cookies.</p>
<p>Go back to the app that sent you here and connect once more, or open ${connections}. Cookies of this site must be allowed.</p>`
  )

/** The page for a sign-in that would lead to an address that is not ours. */
export const noReturnPage = (): string =>
  notice(
    "This sign-in leads nowhere",
    `<p class="lead">The form does not say, in a way that we can use, what you are signing in to.</p>
<p>Go back to the app that sent you here and connect once more, or open ${connections}.</p>`
  )

/** The page for a form that another site's page sent. */
export const crossSitePage = (): string =>
  notice(
    "Another site sent this form",
    `<p class="lead">Nothing was done: forms of Agent Memory are taken from its own pages only.</p>
<p>If you were signing in, go back to the app that you began in and connect once more, or open ${connections}.</p>`
  )

/** The page for a form that can't be read. */
export const unreadFormPage = (reason: "late" | "too large" | "unreadable"): string => {
  const why = {
    late: "It did not arrive in time, perhaps for a slow connection.",
    "too large": "It is larger than a sign-in can be.",
    unreadable: "It did not arrive whole, or not as a form."
  }
  return notice(
    "The form could not be read",
    `<p class="lead">${why[reason]} Nothing was done.</p>
<p>Go back in your browser and send it again, or open ${connections}.</p>`
  )
}

/** The page while the service can't look at the code. */
export const codeLaterPage = (): string =>
  notice(
    "Try again in a moment",
    `<p class="lead">The service can't reach its database at the moment. This is usually over within seconds; then type your code again.</p>
<p><a class="button primary" href="/sign-in/code">Back to the code</a></p>`
  )

/** The page for an address that sends forms faster than people do. */
export const floodPage = (retryAfter: number): string =>
  notice(
    "Too many forms from your network",
    `<p class="lead">Nothing was done. Wait ${retryAfter === 1 ? "1 second" : `${retryAfter} seconds`}, then go back in your browser and send it again.</p>`
  )
