#!/usr/bin/env node
import { appendFileSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

/** Where the browser, started as a program, tells in the home folder why it did not get to the end. */
export const faultsFile = "browser-faults.log"

/** Where the browser, started as a program, finds in the home folder the local secret of the service. */
export const localSecretFile = "local-secret"

/** What the person at the browser knows and does. */
export interface Person {
  /** The local secret, whose address the browser opened before, so that the service's pages show it codes. */
  readonly localSecret: string
  readonly decision?: "allow" | "deny"
}

interface Shown {
  readonly url: URL
  readonly html: string
  readonly policy: string
}

const maxSteps = 20

/**
 * Goes from an authorization request to the client's callback as a person does: types the e-mail address, then the code
 * that the page shows while there is no mail server, then decides. Gives the callback's address without calling it.
 */
export const authorize = async (request: string, person: Person): Promise<URL> => {
  const visit = makeVisit()
  const home = new URL(request).origin
  await visit(new URL(`/?local=${person.localSecret}`, home))
  let page: Shown | undefined
  let next: Promise<URL | Shown> = visit(new URL(request))
  for (let step = 0; step < maxSteps; step++) {
    const got = await next
    if ("html" in got) {
      page = got
      const form = formToFill(page, person)
      if (form === undefined) throw new Error(`${page.url.href} has no form to go on with:\n${page.html}`)
      next = visit(form.action, page, form.fields)
    } else if (got.origin === home) next = visit(got, page)
    else return got
  }
  throw new Error(`There is no end to the pages after ${request}`)
}

/** A browser with cookies: gives the page at an address, or where it redirects to. */
const makeVisit = () => {
  const cookies = new Map<string, string>()
  return async (url: URL, from?: Shown, fields?: URLSearchParams): Promise<URL | Shown> => {
    const response = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(20_000),
      method: fields === undefined ? "GET" : "POST",
      headers: {
        accept: "text/html",
        "sec-fetch-dest": "document",
        "sec-fetch-mode": "navigate",
        "sec-fetch-site": from === undefined ? "none" : "same-origin",
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(from === undefined || fields === undefined ? {} : { origin: from.url.origin })
      },
      ...(fields === undefined ? {} : { body: fields })
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]*)=([^;]*)/.exec(cookie) ?? []
      if (value === "" || /;\s*max-age=0\b/i.test(cookie)) cookies.delete(name)
      else cookies.set(name, value)
    }
    const html = await response.text()
    const location = response.headers.get("location")
    if (response.status >= 300 && response.status < 400 && location !== null) {
      const target = new URL(location, url)
      if (from !== undefined && fields !== undefined) obeyFormAction(from, target)
      return target
    }
    if (!response.ok) throw new Error(`${url.href} answered ${response.status}:\n${html}`)
    return { url, html, policy: response.headers.get("content-security-policy") ?? "" }
  }
}

/** Chromium holds a form's redirects, too, to the page's `form-action`, and says so in its console only. */
const obeyFormAction = ({ policy, url }: Shown, target: URL) => {
  const sources = /(?:^|;)\s*form-action ([^;]*)/.exec(policy)?.[1]?.trim().split(/\s+/)
  const permits = (source: string) =>
    source === "*" ||
    source === target.protocol ||
    source === target.origin ||
    (source === "'self'" && target.origin === url.origin) ||
    source === `${target.protocol}//${target.hostname}:*`
  if (sources !== undefined && !sources.some(permits))
    throw new Error(`The form-action of ${url.href} keeps a browser from ${target.origin}: ${sources.join(" ")}`)
}

const formToFill = (page: Shown, { decision = "allow" }: Person) => {
  const typed = { email: "somebody@example.com", code: codeShown(page.html) ?? "", access: "full", decision }
  for (const [, attributes = "", inside = ""] of page.html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)) {
    const asks = (name: string) => tagNamed(inside, name)?.includes('type="hidden"') === false
    if (!["decision", "code", "email"].some(asks)) continue
    const fields = new URLSearchParams()
    for (const [input] of inside.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g))
      fields.append(valueOf(input, "name"), valueOf(input, "value"))
    for (const [name, value] of Object.entries(typed))
      if (inside.includes(`name="${name}"`) && !fields.has(name)) fields.append(name, value)
    const action = valueOf(attributes, "action")
    return { action: action === "" ? page.url : new URL(action, page.url), fields }
  }
  return undefined
}

const codeShown = (html: string) =>
  /class="[^"]*local-mail[^"]*"[\s\S]*?\b(\d{3} ?\d{3})\b/.exec(html)?.[1]?.replace(" ", "")

const tagNamed = (html: string, name: string) => new RegExp(`<[^>]*\\bname="${name}"[^>]*>`).exec(html)?.[0]

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'" }

const valueOf = (tag: string, name: string) =>
  (new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? "").replace(
    /&([a-z]+|#39|#x27);/g,
    (whole, entity: string) => entities[entity] ?? whole
  )

// As the program that command-line clients start: BROWSER is set to this file.
if (import.meta.main) {
  const request = process.argv.slice(2).find((argument) => argument.startsWith("http")) ?? ""
  try {
    const localSecret = readFileSync(join(homedir(), localSecretFile), "utf8")
    await fetch(await authorize(request, { localSecret }))
  } catch (error) {
    // The clients throw away what their browser prints.
    appendFileSync(join(homedir(), faultsFile), `${String(error)}\n`)
    process.exitCode = 1
  }
}
