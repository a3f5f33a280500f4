import { Effect } from "effect"
import { newPerson, postForm } from "../../../support/OAuth.ts"
import { bodyOf, request, type Answer } from "../../../support/TestService.ts"

/** A signed-in person at a browser that runs no scripts, with an API key of the same account. */
export const newOwner = Effect.gen(function* () {
  const { accountId, apiKey, cookie } = yield* newPerson
  const get = (path: string) => request("GET", path, { headers: { cookie } })
  const account = yield* get("/account")
  const proof = /name="proof" value="([^"]*)"/.exec(account.text)?.[1] ?? ""

  const add = Effect.fnUntraced(function* (table: string, row: string) {
    const added = yield* request("POST", `/v1/${table}`, { key: apiKey, body: row })
    return bodyOf<{ id: string; updated_at: string }>(added)
  })
  return {
    accountId,
    apiKey,
    cookie,
    proof,
    get,
    /** Sends a form as a page of the service does. */
    post: (path: string, fields: Readonly<Record<string, string>> | URLSearchParams, headers = {}) => {
      const all = new URLSearchParams(fields)
      if (!all.has("proof")) all.set("proof", proof)
      return postForm(path, all, { cookie, "sec-fetch-site": "same-origin", ...headers })
    },
    /** Sends a form that can hold a file. */
    upload: (path: string, fields: Readonly<Record<string, string | File>>, headers = {}) =>
      Effect.gen(function* () {
        const form = new FormData()
        for (const [name, value] of Object.entries({ proof, ...fields })) form.append(name, value)
        const body = new Response(form)
        const contentType = body.headers.get("content-type")!
        const bytes = new Uint8Array(yield* Effect.promise(() => body.arrayBuffer()))
        return yield* request("POST", path, {
          body: bytes,
          headers: { cookie, "content-type": contentType, "sec-fetch-site": "same-origin", ...headers }
        })
      }),
    add,
    /** A row's exact text, over the API. */
    row: (table: string, id: string) =>
      Effect.map(
        request("GET", `/v1/${table}?filter=${encodeURIComponent(JSON.stringify({ id }))}`, { key: apiKey }),
        ({ text }) => /"updated_at":"[^"]*",?(.*)\}\],"has_more"/s.exec(text)?.[1] ?? ""
      )
  }
})

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'"
}
const decoded = (text: string): string => text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity]!)

/**
 * What a browser sends back for a page's form that was not touched: it drops the line feed at the start of a text area, and
 * sends every line ending as CR LF.
 */
export const untouched = (page: Answer, action: string): URLSearchParams => {
  const form = new RegExp(`<form[^>]* action="${action}"[^>]*>(.*?)</form>`, "s").exec(page.text)?.[1] ?? ""
  const fields = new URLSearchParams()
  const controls =
    /<(?:(?<input>input)|(?<area>textarea)|(?<select>select))(?<attributes>[^>]*)>(?:(?<=<textarea[^>]*>)(?<text>.*?)<\/textarea>|(?<=<select[^>]*>)(?<options>.*?)<\/select>)?/gs
  for (const { groups = {} } of form.matchAll(controls)) {
    const { area, attributes = "", input, options = "", text = "" } = groups
    const name = decoded(/ ?name="([^"]*)"/.exec(attributes)?.[1] ?? "")
    if (name === "" || /type="(?:checkbox|radio)"/.test(attributes)) continue
    const value =
      input !== undefined
        ? (/value="([^"]*)"/s.exec(attributes)?.[1] ?? "")
        : area !== undefined
          ? text.replace(/^\r?\n/, "")
          : (/value="([^"]*)" selected/.exec(options)?.[1] ?? "")
    fields.append(name, decoded(value).replaceAll(/\r\n?|\n/g, "\r\n"))
  }
  return fields
}
