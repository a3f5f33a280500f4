import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import packageJson from "../package.json" with { type: "json" }
import { settingGroups } from "../src/server/config/Settings.ts"
import { groups } from "../src/server/pages/docs/OpenApi.ts"
import { sitePaths } from "./support/SitePaths.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const documentsIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name))

const documents = [".", ".github", "src/server/pages/docs", "test", "test/bench"].flatMap(documentsIn)

const textOf = (path: string): string => readFileSync(join(root, path), "utf8")

/** A document's text without its blocks of code. */
const proseOf = (path: string): string => textOf(path).replaceAll(/^```.*?^```$/gms, "")

/** The anchors that a repository's pages give to the headings of a document. */
const anchorsOf = (path: string): ReadonlyArray<string> =>
  [...proseOf(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  )

/** What stands as code in a document's text. */
const codeIn = (path: string): ReadonlyArray<string> =>
  [...proseOf(path).matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code)

describe("Every document", () => {
  it("links only to files that exist, and to headings that they have", () => {
    assert.isAbove(documents.length, 15)
    let count = 0
    for (const path of documents) {
      const links = proseOf(path).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)
      for (const [, link, image] of links) {
        const address = link ?? image ?? ""
        if (/^https?:/.test(address)) continue
        const [file = "", anchor] = address.split("#")
        const target = file === "" ? path : join(dirname(path), file)
        assert.isTrue(existsSync(join(root, target)), `${path} links to ${address}`)
        if (anchor !== undefined) assert.include(anchorsOf(target), anchor, `${path} links to ${address}`)
        count++
      }
    }
    assert.isAbove(count, 50)
  })

  it("names only pages that the site has, and files that exist", () => {
    let count = 0
    for (const path of documents) {
      for (const code of codeIn(path)) {
        if (/^\/(?:docs|install|how-to-use|llms)\b/.test(code)) {
          assert.include(sitePaths, code.split("#")[0], `${path} names ${code}`)
          count++
        }
        if (/^(?:src|test)\/[\w./-]+$/.test(code)) {
          assert.isTrue(existsSync(join(root, code)), `${path} names ${code}`)
          count++
        }
      }
    }
    assert.isAbove(count, 50)
  })

  it("names only calls that the API has, and settings that are read", () => {
    const operations = groups().flatMap(({ operations }) => operations)
    const calls = operations.map(({ method, path }) => `${method} ${path}`)
    const settings = settingGroups.flatMap(([, settings]) => settings.map(({ name }) => name))
    let count = 0
    for (const path of documents.filter((path) => !path.startsWith("test"))) {
      for (const code of codeIn(path)) {
        const [call] = /^(?:GET|POST|DELETE) \/v1\/[\w/{}]+/.exec(code) ?? []
        const [setting] =
          /^(?:LIMIT|BASE|DATABASE|DATA|REDIS|CACHE|SMTP|MAIL|LOG|OTEL|METRICS|TRUSTED)_[A-Z_]+/.exec(code) ?? []
        if (call !== undefined) assert.include(calls, call, `${path} names ${code}`)
        if (setting !== undefined) assert.include(settings, setting, `${path} names ${code}`)
        if (call !== undefined || setting !== undefined) count++
      }
    }
    assert.isAbove(count, 50)
  })
})

describe("The changelog", () => {
  it("begins with the version that the package has, and its day", () => {
    const [first = ""] = /^## .*$/m.exec(textOf(".github/CHANGELOG.md")) ?? []
    const [, version, day] = /^## (\S+) - (\d{4}-\d\d-\d\d)$/.exec(first) ?? []
    assert.strictEqual(version, packageJson.version)
    assert.isFalse(Number.isNaN(Date.parse(day ?? "")))
  })
})
