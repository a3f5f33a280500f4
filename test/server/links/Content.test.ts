import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { serviceLayer } from "../../support/TestService.ts"
import { jsonOf, wire } from "../wire/Wire.ts"
import { makeLinks, save, shownBy, withRow } from "./LinkCalls.ts"
import { cpuTime } from "../../support/CpuTime.ts"

const hostile: Readonly<Record<string, string>> = {
  "a closing script": `"</script><script>alert(1)</script>"`,
  "an SVG": `"<svg onload=alert(1)>"`,
  "a comment and a closing main": `"--></main></pre><img src=x onerror=alert(1)>"`,
  "a javascript: address": `"[x](javascript:alert(1))"`,
  NUL: String.raw`"a\u0000b"`,
  "a lone surrogate": String.raw`"\ud800"`,
  "a line break first": String.raw`"\n\na"`,
  "carriage returns": String.raw`"a\r\nb\rc"`,
  "an emoji": `"👩‍🚀"`,
  "a large integer": "9223372036854775807",
  "a number with zeros": "1.10",
  "a name that objects have": `{"__proto__":{"constructor":1},"toString":2}`,
  "100 levels": `${"[".repeat(99)}1${"]".repeat(99)}`,
  "odd spelling": String.raw`"\u00e9\/é"`
}

layer(serviceLayer())("What a link leads to", (it) => {
  for (const [what, value] of Object.entries(hostile)) {
    it.effect(`P15 comes back exactly with ${what}, and does nothing on the page`, () =>
      Effect.gen(function* () {
        const { added, key, links, updated_at } = yield* withRow(`{"v":${value},"<b>&\\"'":1}`)
        const query = yield* makeLinks(key, "query", { table: "notes" })
        assert.strictEqual((yield* wire("GET", `${links.view}/download`)).text, added)
        assert.strictEqual((yield* wire("GET", links.download)).text, added)
        assert.strictEqual((yield* wire("GET", query.download)).text, `{"rows":[${added}],"has_more":false}`)
        for (const path of [links.view, query.view]) {
          const page = yield* wire("GET", path)
          assert.strictEqual(page.status, 200)
          const main = page.text.slice(page.text.indexOf("<main"), page.text.indexOf("</main>"))
          assert.notMatch(main, /<(?:script|svg|img|b)\b|\shref="(?!\/view\/)/i)
          assert.strictEqual(page.text.split("</main>").length, 2)
        }
        const saved = yield* save(links.view, `{"updated_at":"${updated_at}","patch":{"more":${value}}}`)
        assert.include(saved.text, `"v":${value},"<b>&\\"'":1,"more":${value}}`)
      })
    )
  }

  const texts: Readonly<Record<string, string>> = {
    "a closing script": "</script><script>alert(1)</script>",
    "line breaks first and last": "\n\na\r\nb\rc\n",
    NUL: "a\0b",
    "a byte order mark": "\ufeffa",
    nothing: "",
    "64 KB of emoji": "👩‍🚀".repeat(5900)
  }
  for (const [what, text] of Object.entries(texts)) {
    it.effect(`downloads a text's bytes exactly with ${what}`, () =>
      Effect.gen(function* () {
        const { textLinks } = yield* withRow(JSON.stringify({ t: text }))
        const { download, view } = yield* textLinks("t")
        for (const path of [download, `${view}/download`]) {
          const file = yield* wire("GET", path)
          assert.strictEqual(file.headers["content-type"], "text/plain; charset=utf-8")
          assert.isTrue(file.bytes.equals(Buffer.from(text)))
        }
        const shown = shownBy(yield* wire("GET", view))
        // No form can hold NUL.
        const end = text.includes("\0") ? "pre" : "textarea"
        assert.include(shown, `>\n${text.replaceAll("\0", "\ufffd")}</${end}>`)
      })
    )
  }

  it.effect("downloads text with half a surrogate pair as JSON", () =>
    Effect.gen(function* () {
      const { textLinks } = yield* withRow(String.raw`{"t":"a\uD800"}`)
      const file = yield* wire("GET", (yield* textLinks("t")).download)
      assert.strictEqual(file.headers["content-type"], "application/json")
      assert.strictEqual(file.text, String.raw`"a\uD800"`)
      assert.match(file.headers["content-disposition"] ?? "", /filename=notes-[0-9a-f-]{36}-t\.json/)
    })
  )

  const names: ReadonlyArray<readonly [row: object, field: string, name: string, letters?: string]> = [
    [{ content: "a" }, "content", "notes-content.txt"],
    [{ content: "# Title\n\nText" }, "content", "notes-content.md"],
    [{ content: "See [the docs](/docs)." }, "content", "notes-content.md"],
    [{ content: "# a comment\nPORT=1" }, "content", "notes-content.txt"],
    [{ content: "a", type: "markdown" }, "content", "notes-content.md"],
    [{ content: "a", type: "code", language: "Python" }, "content", "notes-content.py"],
    [{ content: "a", media_type: "application/json; charset=utf-8" }, "content", "notes-content.json"],
    [{ content: "a", language: "html" }, "content", "notes-content.txt"],
    [{ "README.md": "a" }, "README.md", "notes-README.md"],
    [{ yaml: "a" }, "yaml", "notes-yaml.yaml"],
    [{ "run.exe": "a" }, "run.exe", "notes-run.exe.txt"],
    [{ "../../etc/passwd": "a" }, "../../etc/passwd", "notes-_._etc_passwd.txt"],
    [{ 'a"\r\nSet-Cookie: x': "a" }, 'a"\r\nSet-Cookie: x', "notes-a_Set-Cookie_x.txt"],
    [{ "": "a" }, "", "notes-field.txt"],
    [{ größe: "a" }, "größe", "notes-gr__e.txt", "notes-gr%C3%B6%C3%9Fe.txt"],
    [{ 日本: "a" }, "日本", "notes-__.txt", "notes-%E6%97%A5%E6%9C%AC.txt"]
  ]
  for (const [row, field, name, letters] of names) {
    it.effect(`downloads the field ${JSON.stringify(field)} of ${JSON.stringify(row)} as ${name}`, () =>
      Effect.gen(function* () {
        const { textLinks } = yield* withRow(JSON.stringify(row))
        const file = yield* wire("GET", (yield* textLinks(field)).download)
        assert.strictEqual(
          file.headers["content-disposition"]?.replaceAll(/-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=-)/g, ""),
          `attachment; filename=${name}${letters === undefined ? "" : `; filename*=UTF-8''${letters}`}`
        )
        assert.strictEqual(file.headers["x-content-type-options"], "nosniff")
      })
    )
  }

  it.effect("lets nobody edit in a cell, or filter by, a text that no form sends back as it is", () =>
    Effect.gen(function* () {
      const { key } = yield* withRow('{"n":1,"half":"a\\ud800","nul":"\\u0000","whole":"\\ud83d\\ude00"}')
      const { text } = yield* wire("GET", (yield* makeLinks(key, "query", { table: "notes" })).view)
      const cells = Array.from(text.matchAll(/<td data-kind="text"( data-value)?/g), ([, value]) => value !== undefined)
      assert.deepStrictEqual(cells, [false, false, true])
    })
  )

  it.effect("shows rows of other shapes as one table, and says when none matches", () =>
    Effect.gen(function* () {
      const { key } = yield* withRow('{"a":1,"b":{"c":[1.10]}}')
      yield* wire("POST", "/v1/notes", { key, body: '{"b":null,"z":"<i>"}' })
      const page = shownBy(yield* wire("GET", (yield* makeLinks(key, "query", { table: "notes" })).view))
      const heads = Array.from(page.matchAll(/data-field="([^"]*)"/g), ([, field]) => field)
      assert.deepStrictEqual(heads, ["a", "b", "z", "id", "created_at", "updated_at"])
      assert.include(page, '>1</a></th><td data-kind="json"><code>{"c":[1.10]}</code></td><td></td>')
      assert.include(page, '<em class="muted">null</em></td><td data-kind="text" data-value=""<i>""><i></td>')
      const none = yield* makeLinks(key, "query", { table: "other" })
      assert.include((yield* wire("GET", none.view)).text, "No rows match this query.")
      assert.strictEqual((yield* wire("GET", `${none.view}/download`)).text, '{"rows":[],"has_more":false}')
    })
  )

  it.effect("is shown in under a second at its largest", () =>
    Effect.gen(function* () {
      const wide = `{${Array.from({ length: 5000 }, (_, n) => `"k${n}":${n}`).join()}}`
      const { key, links } = yield* withRow(wide)
      const row = `{"action":"add","row":{"id2":1,"nested":${`{"a":[${"1,".repeat(400)}1]}`},"s":"${"x".repeat(500)}"}}`
      for (let batch = 0; batch < 9; batch++) {
        const body = `{"operations":[${Array.from({ length: 100 }, () => row).join()}]}`
        assert.strictEqual((yield* wire("POST", "/v1/many/batch", { key, body })).status, 200)
      }
      const query = yield* makeLinks(key, "query", { table: "many", limit: 1000 })
      for (const path of [links.view, query.view]) {
        const start = cpuTime()
        assert.strictEqual((yield* wire("GET", path)).status, 200)
        assert.isBelow(cpuTime() - start, 1000)
      }
    })
  )

  it.effect("is refused when it is no JSON, too large or not as it was read, with the place", () =>
    Effect.gen(function* () {
      const { links, updated_at } = yield* withRow('{"n":1}')
      const at = `"updated_at":"${updated_at}"`
      const cases: ReadonlyArray<readonly [body: string, status: number, code: string, path?: string]> = [
        ["{", 400, "invalid_json"],
        [`{${at},"row":{"a":1,"a":2}}`, 400, "duplicate_field", "/row/a"],
        [`{${at},"row":${"[".repeat(101)}${"]".repeat(101)}}`, 400, "too_deep"],
        [`{${at},"row":[]}`, 400, "invalid_request", "/row"],
        [`{${at}}`, 400, "invalid_request", ""],
        [`{${at},"row":{},"patch":{}}`, 400, "invalid_request", ""],
        [`{${at},"row":{},"x":1}`, 400, "invalid_request", "/x"],
        ['{"row":{}}', 400, "invalid_request", "/updated_at"],
        ['{"updated_at":"now","row":{}}', 400, "invalid_request", "/updated_at"],
        [`{${at},"row":{"id":"other"}}`, 400, "reserved_field", "/row/id"],
        [`{${at},"patch":{"created_at":1}}`, 400, "reserved_field", "/patch/created_at"],
        [`{${at},"row":{"t":"${"x".repeat(65_536)}"}}`, 413, "row_too_large"]
      ]
      for (const [body, status, code, path] of cases) {
        const answer = yield* save(links.view, body)
        const problem = jsonOf<{ code: string; errors?: ReadonlyArray<{ path: string }> }>(answer)
        assert.deepStrictEqual([answer.status, problem.code], [status, code], body.slice(0, 100))
        if (path !== undefined) assert.strictEqual(problem.errors?.[0]?.path, path, body.slice(0, 100))
      }
      const typed = yield* wire("PATCH", links.view, { body: "{}", headers: { "content-type": "text/plain" } })
      assert.strictEqual(typed.status, 415)
    })
  )
})
