import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { dumpOf } from "../../support/AccountCopies.ts"
import { done, newConnection } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { jsonOf, wire, type WireAnswer } from "../wire/Wire.ts"
import { makeLinks, save } from "./LinkCalls.ts"

/** The addresses of links, `$token` in place of the token, with the bodies that a holder of the link sends. */
const routes: ReadonlyArray<readonly [method: string, path: string, bodies?: ReadonlyArray<string>]> = [
  ["GET", "/view/$token"],
  ["GET", "/view/$token/download"],
  ["GET", "/view/$token/_text"],
  ["PATCH", "/view/$token", ['{"updated_at":"$updated","patch":{"t":"stolen"}}', "{"]],
  ["POST", "/view/$token", ["updated_at=$updated&name_0=t&type_0=text&value_0=stolen"]],
  ["POST", "/view/$token/_json", ['updated_at=$updated&row={"t":"stolen"}']],
  ["POST", "/view/$token/_text", ["updated_at=$updated&field=t&text=stolen"]],
  ["POST", "/view/$token/_merge", ['updated_at=$updated&base={"t":"b"}&mine={"t":"stolen"}&choice_0=mine']],
  ["POST", "/view/$token/_restore", ["version=1"]],
  ["GET", "/download/$token"]
]

const formType = { "content-type": "application/x-www-form-urlencoded" }

interface Tokens {
  readonly view: string
  readonly download: string
}

const tokenOf = (url: string) => url.split("/").at(-1)!

/** An account whose one row has an old version, with links of every kind that its key and its MCP client made. */
const withLinks = Effect.gen(function* () {
  const { accountId, apiKey: key, token } = yield* newConnection()
  const { id } = jsonOf<{ id: string }>(yield* wire("POST", "/v1/notes", { key, body: '{"t":"a"}' }))
  const patched = yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"t":"b"}}` })
  const { updated_at } = jsonOf<{ row: { updated_at: string } }>(patched).row
  const row = { table: "notes", id }
  const ofKey = yield* Effect.forEach(
    [
      ["row", row],
      ["text_field", { ...row, field: "t" }],
      ["query", { table: "notes" }]
    ] as const,
    ([kind, body]) => makeLinks(key, kind, body)
  )
  const ofClient = [
    yield* done(token, "open_row", row),
    yield* done(token, "open_text_field", { ...row, field: "t" }),
    (yield* done(token, "query", { table: "notes", includeLink: true }))["_service_query_link"]
  ] as ReadonlyArray<Record<"viewer_url" | "download_url", string>>
  const links: ReadonlyArray<Tokens> = [
    ...ofKey.map(({ download, view }) => ({ view: tokenOf(view), download: tokenOf(download) })),
    ...ofClient.map((link) => ({ view: tokenOf(link.viewer_url), download: tokenOf(link.download_url) }))
  ]
  return { accountId, updated_at, links }
})

const nobody = "a".repeat(20)
const random = `_${"b".repeat(43)}`
const secretOf = (token: string) => token.slice(20)

/** What does not open an address of these links of the one account, beside what only one of its links does. */
const strangersOf = (side: "view" | "download", own: Tokens, other: Tokens, accounts: readonly [string, string]) => ({
  "under another account's name": accounts[1] + secretOf(own[side]),
  "of another account's link": accounts[0] + secretOf(other[side]),
  "under nobody's name": nobody + secretOf(own[side]),
  "made up for the account": accounts[0] + random,
  "of the link's other side": own[side === "view" ? "download" : "view"],
  "of the other side of another account's link": accounts[0] + secretOf(other[side === "view" ? "download" : "view"])
})

/** An answer without what differs between any two. */
const told = ({ headers, status, text }: WireAnswer) => {
  const { date: _, "x-request-id": requestId, ...rest } = headers
  return { status, headers: { ...rest, "x-request-id": "" }, body: text.replaceAll(String(requestId), "") }
}

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "8" }), { excludeTestServices: true })(
  "A token that opens no link",
  (it) => {
    it.effect("P25 is tried on every address of links", () =>
      Effect.sync(() => {
        const source = (name: string) =>
          readFileSync(new URL(`../../../src/server/pages/${name}.ts`, import.meta.url), "utf8")
        const forms = source("LinkForms")
        const added = [...(source("LinkRoutes") + forms).matchAll(/method: "(\w+)",\s*path: "([^"]+)"/g)]
        const sent = [...forms.matchAll(/yield\* (?:form|saving)\(\s*"([^"]*)"/g)]
        assert.sameMembers(
          routes.map(([method, path]) => `${method} ${path.replace("$token", ":token")}`),
          [
            ...added.map(([, method, path]) => `${method} ${path}`),
            ...sent.map(([, suffix]) => `POST /view/:token${suffix}`)
          ]
        )
      })
    )

    for (const [method, path, bodies = [undefined]] of routes) {
      it.effect(`P25 is answered as one that was never given, and changes nothing (${method} ${path})`, () =>
        Effect.gen(function* () {
          const [mine, theirs] = [yield* withLinks, yield* withLinks]
          const before = [yield* dumpOf(mine.accountId), yield* dumpOf(theirs.accountId)]
          const side = path.startsWith("/view") ? "view" : "download"
          const accepted = ["*/*", "text/html"]
          for (const [index, link] of mine.links.entries()) {
            const strangers = strangersOf(side, link, theirs.links[index]!, [mine.accountId, theirs.accountId])
            for (const given of bodies) {
              const body = given?.replace("$updated", mine.updated_at)
              const isForm = method === "POST"
              for (const accept of accepted) {
                for (const asked of method === "GET" ? ["GET", "HEAD"] : [method]) {
                  const ask = (token: string) =>
                    Effect.map(
                      wire(asked, path.replace("$token", token), {
                        body,
                        headers: { accept, ...(isForm && formType) }
                      }),
                      told
                    )
                  const unknown = yield* ask(nobody + random)
                  assert.strictEqual(unknown.status, 404)
                  for (const [what, token] of Object.entries(strangers)) {
                    assert.deepStrictEqual(yield* ask(token), unknown, `${asked} ${accept} ${body}: a token ${what}`)
                  }
                }
              }
            }
          }
          assert.deepStrictEqual([yield* dumpOf(mine.accountId), yield* dumpOf(theirs.accountId)], before)
          // Nor has it spent the saves of a link, which are fewer than were tried.
          for (const { accountId, links, updated_at } of [mine, theirs]) {
            const saved = yield* save(`/view/${links[0]!.view}`, `{"updated_at":"${updated_at}","patch":{"t":"c"}}`)
            assert.strictEqual(saved.status, 200, `${accountId}: ${saved.text}`)
          }
        })
      )
    }
  }
)
