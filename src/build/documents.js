import MarkdownIt from "markdown-it"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import packageJson from "../../package.json" with { type: "json" }
import { codeBlock, html } from "../server/doors/Html.ts"

/** The documents of the repository that the site shows, by the last segment of their URL. */
const documents = {
  client: "src/server/pages/docs/client.md",
  testing: "src/server/pages/docs/testing.md",
  deployment: "src/server/pages/docs/deployment.md",
  security: ".github/SECURITY.md"
}

/** @param {string} text */
const idOf = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")

/**
 * Writes `documents.json` into the folder: the `html` of each document, and its `sections` for the search. `{version}` in a
 * document is the package's.
 *
 * @param {string} folder
 */
export async function buildDocuments(folder) {
  const rendered = await Promise.all(
    Object.entries(documents).map(async ([name, path]) => [
      name,
      render((await readFile(path, "utf8")).replaceAll("{version}", packageJson.version))
    ])
  )
  await writeFile(join(folder, "documents.json"), JSON.stringify(Object.fromEntries(rendered)))
}

/** @param {string} markdown */
function render(markdown) {
  const markdownIt = new MarkdownIt({ html: false })
  const tokens = markdownIt.parse(markdown, {})
  /** @type {Array<{ id: string, title: string, text: string }>} */
  const sections = []
  /** @type {Array<string>} */
  let columns = []
  let column = 0
  for (const [index, { content, tag, type }] of tokens.entries()) {
    const token = tokens[index]
    if (token === undefined) continue
    const inner = tokens[index + 1]?.content ?? ""
    if (type === "heading_open" && tag !== "h1") {
      token.attrSet("id", idOf(inner))
      sections.push({ id: idOf(inner), title: inner, text: "" })
    }
    if (type === "thead_open") columns = []
    if (type === "tr_open") column = 0
    if (type === "th_open") {
      token.attrSet("scope", "col")
      columns.push(inner)
    }
    // On phones the cells of a row are stacked, each with the name of its column.
    if (type === "td_open") token.attrSet("data-column", columns[column++] ?? "")
    const section = sections.at(-1)
    if (section !== undefined && (type === "inline" || type === "fence")) section.text += ` ${content.toLowerCase()}`
  }
  const { rules } = markdownIt.renderer
  rules.fence = (tokens, index) => {
    const { content = "", info = "" } = tokens[index] ?? {}
    return String(codeBlock(info.replace(/^\S+\s*/, "") || "Shell", content.trimEnd()))
  }
  rules.code_inline = (tokens, index) => {
    const text = tokens[index]?.content ?? ""
    const code = html`<code>${text}</code>`
    return String(text.startsWith("/docs/") ? html`<a href="${text}">${code}</a>` : code)
  }
  return { html: markdownIt.renderer.render(tokens, markdownIt.options, {}), sections }
}
