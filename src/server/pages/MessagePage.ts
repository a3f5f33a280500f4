import { page } from "./Page.ts"

/** A page that says one thing and what to do about it. `title` is plain text, `body` HTML whose values are escaped. */
export const messagePage = (input: {
  readonly title: string
  readonly heading: string
  readonly body: string
}): string =>
  page({
    title: input.title,
    robots: "noindex",
    main: `<main class="narrow"><h1>${input.heading}</h1>\n${input.body}</main>`
  })

/** The page was not made for this browser session, or another site sent the form. */
export const refusedFormPage = (input: { readonly href: string; readonly name: string }): string =>
  messagePage({
    title: "Not done",
    heading: "Nothing was changed",
    body: `<p class="lead">This form came from another site, or from a page of an earlier sign-in.
Open <a href="${input.href}">${input.name}</a> and try again there.</p>`
  })

/** The service can't do it at the moment. */
export const unavailablePage = (input: { readonly href: string }): string =>
  messagePage({
    title: "Try again in a moment",
    heading: "The service is not ready",
    body: `<p class="lead">It can't reach its database at the moment. This is usually over within seconds.</p>
<p class="actions"><a class="button primary" href="${input.href}">Try again</a></p>`
  })
