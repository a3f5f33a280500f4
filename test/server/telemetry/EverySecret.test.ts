import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { otlpCollector, Terminal } from "../../support/Captured.ts"
import { callTool, callToolText, newConnection } from "../../support/Mcp.ts"
import { storedText } from "../../support/StoredText.ts"
import { bodyOf, localSecret, metricsText, request, serviceLayer } from "../../support/TestService.ts"
import { makeLinks } from "../links/LinkCalls.ts"
import { operations, type Sample } from "../wire/Operations.ts"
import { jsonOf, wire } from "../wire/Wire.ts"

/** What a row holds, which is the account's and nobody's who reads the log. */
const marker = "wombat"

/** Answers that show a secret once, to whom it belongs. */
const showing = new Set(["auth.magicLink", "auth.verify", "keys.create", "links.row", "links.textField", "links.query"])

/** Uses everything that there is, well and badly; gives the secrets that there were, and what callers were answered. */
const useEverything = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const owner = yield* newConnection()
  const { apiKey: key, token } = owner
  const secrets = [key, token, owner.cookie.split("=")[1]!]
  const answers: Array<string> = []
  const send = Effect.fnUntraced(function* (
    name: string,
    [method, path, body]: Sample,
    values: Record<string, string>
  ) {
    const fill = (text: string) => text.replaceAll(/\$(\w+)/g, (_, value: string) => values[value] ?? "")
    const answer = yield* wire(method, fill(path), { key, body: body === undefined ? undefined : fill(body) })
    if (!showing.has(name) || answer.status >= 300) answers.push(JSON.stringify(answer.headers), answer.text)
    else
      secrets.push(
        ...answer.text.matchAll(/(?:api_key":"|\/view\/|\/download\/|token=)([\w-]+)/g).map(([, one]) => one!)
      )
    return answer
  })

  const added = yield* wire("POST", "/v1/notes", { key, body: `{"n":1,"kind":"a","text":"${marker}"}` })
  const { id } = jsonOf<{ id: string }>(added)
  yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"m":"${marker}"}}` })
  for (const [name, { refusals, success }] of Object.entries(operations)) {
    if (name === "auth.verify") continue
    for (const sample of [success[1], ...Object.values(refusals)]) yield* send(name, sample, { id })
  }

  yield* request("POST", "/auth/magic-link", { body: `{"email":"${marker}@example.com"}` })
  const mails = yield* (yield* Outbox).sent
  const links = mails.flatMap(({ text }) => /token=([\w-]+)/.exec(text)!.slice(1))
  secrets.push(...links)
  const verified = yield* request("POST", "/auth/verify", { body: JSON.stringify({ token: links.at(-1) }) })
  secrets.push(bodyOf<{ api_key: string }>(verified).api_key)
  for (const path of ["/sign-in?token=", "/view/", "/download/", "/v1/_keys/", "/nowhere/"]) {
    answers.push((yield* request("GET", path + links.at(-1)!)).text.replaceAll(links.at(-1)!, ""))
  }

  const local = yield* localSecret
  secrets.push(local)
  const asked = [
    yield* request("GET", `/?local=${local}`),
    yield* request("GET", `/?local=${local}x`),
    yield* request("GET", `/nowhere?a=b&local=${local}`),
    yield* request("GET", "/", { headers: { "x-local-secret": local, cookie: `agent_memory_local_3000=${local}` } })
  ]
  for (const answer of asked) answers.push(answer.text)

  const made = yield* makeLinks(key, "row", { table: "notes", id })
  secrets.push(made.view.split("/").at(-1)!, made.download.split("/").at(-1)!)
  for (const path of [made.view, `${made.view}?view=history`, `${made.view}/download`, made.download]) {
    yield* request("GET", path)
  }
  yield* wire("PATCH", made.view, { body: `{"updated_at":"x","patch":{"text":"${marker}"}}` })

  yield* callTool(token, "remember", { type: "code", title: marker, content: marker })
  yield* callTool(token, "update_row", { table: "notes", id: marker, patch: { text: marker } })
  answers.push(yield* callToolText(token, "add", `{"table":"notes","row":{"id":"x"},"${marker}":1}`))
  for (const wrong of [`${key}x`, `${key.slice(0, -1)}`, token]) {
    answers.push((yield* request("GET", "/v1/notes", { key: wrong })).text)
  }

  // A fault of the service's own, of which PostgreSQL quotes the values.
  yield* sql`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION ''refused %'', to_jsonb(NEW) USING DETAIL = to_jsonb(NEW)::text; END'
  `
  yield* sql`CREATE TRIGGER refuse BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION refuse()`
  const failed = yield* request("POST", "/v1/notes", { key, body: `{"text":"${marker}"}` })
  assert.strictEqual(failed.status, 500)
  answers.push(failed.text)
  answers.push((yield* callTool(token, "add", { table: "notes", row: { text: marker } })).content[0]!.text)
  yield* sql`DROP TRIGGER refuse ON rows`
  answers.push(yield* metricsText)
  return { answers, secrets, stored: yield* storedText, lines: (yield* Terminal).lines }
})

const assertNowhere = (what: string, texts: Readonly<Record<string, string>>) => {
  for (const [place, text] of Object.entries(texts)) {
    const found = text.indexOf(what)
    assert.strictEqual(found, -1, `${place}: ${text.slice(Math.max(0, found - 200), found + 40)}`)
  }
}

it.live(
  "P21 no key, token, link, code or row is told by answers, logs, spans or metrics, nor kept in the database",
  () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, LOG_LEVEL: "trace", LOG_FORMAT: "json" }
      const service = serviceLayer(variables).pipe(Layer.provideMerge(Terminal.layer))
      const { answers, lines, secrets, stored } = yield* useEverything.pipe(Effect.provide(service), Effect.scoped)
      const exported = collector.bodies.map(({ text }) => text).join("\n")
      const [log, answered] = [lines.join("\n"), answers.join("\n")]
      assert.isAbove(new Set(secrets).size, 12)
      assert.isAbove(lines.length, 60)
      assert.isAbove(collector.spans().length, 200)
      for (const secret of new Set(secrets)) {
        assert.isAbove(secret.length, 20)
        assertNowhere(secret, { log, exported, answered, stored })
        // The random part alone, as a prefix may be cut off.
        assertNowhere(secret.slice(-30), { log, exported, answered, stored })
      }
      assertNowhere(marker, { log, exported })
      for (const told of [/\b(?:SELECT|INSERT INTO|UPDATE \w+ SET)\b/, /SQLSTATE|"(?:P0001|23505|42P01|22P02)"/]) {
        for (const [place, text] of Object.entries({ log, exported, answered })) {
          assert.notMatch(text, told, `${place}: ${told.exec(text)?.index}`)
        }
      }
      assert.notMatch(answered, /^\s+at .*:\d+:\d+/m)
      assert.notMatch(exported, /\\n\s+at .*:\d+:\d+/)
    })
)
