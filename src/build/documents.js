import MarkdownIt from "markdown-it"
import { readFile, writeFile } from "node:fs/promises"
import { dirname, join, posix } from "node:path"
import packageJson from "../../package.json" with { type: "json" }
import { codeBlock, html } from "../server/doors/Html.ts"
import { documentPages } from "../server/pages/docs/Documents.ts"

/** Pages that are known by their addresses alone. */
const siteAddress =
  /^\/(?:docs(?:\/|$)|(?:install|how-to-use|tables|activity|apps|keys|account|openapi\.json|llms\.(?:txt|md))$)/

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
    documentPages.map(async ({ file, name }) => {
      const text = await readFile(file, "utf8")
      return [name, render(file, text.replaceAll("{version}", packageJson.version))]
    })
  )
  await writeFile(join(folder, "documents.json"), JSON.stringify(Object.fromEntries(rendered)))
}

/**
 * The address of what a document links to: documents link to each other as files, so that they can be read in the repository,
 * too.
 *
 * @param {string} file
 * @param {string} href
 */
function addressOf(file, href) {
  if (/^(?:https?:|#)/.test(href)) return href
  const [path = "", anchor] = href.split("#")
  const target = posix.join(dirname(file), path)
  const page = documentPages.find((page) => page.file === target)
  if (page === undefined) throw new Error(`${file} links to ${href}, which is no page of the documentation.`)
  return `/docs/${page.name}${anchor === undefined ? "" : `#${anchor}`}`
}

/**
 * @param {string} file
 * @param {string} markdown
 */
function render(file, markdown) {
  const markdownIt = new MarkdownIt({ html: false })
  const tokens = markdownIt.parse(markdown, {})
  /** @type {Array<{ id: string, title: string, text: string, isPart: boolean }>} */
  const sections = []
  /** @type {Map<string, number>} */
  const repeats = new Map()
  /** @type {Array<string>} */
  let columns = []
  let column = 0
  for (const [index, { content, tag, type }] of tokens.entries()) {
    const token = tokens[index]
    if (token === undefined) continue
    const inner = tokens[index + 1]?.content ?? ""
    if (type === "heading_open" && tag !== "h1") {
      // Releases have the same headings.
      const plain = idOf(inner)
      const repeat = repeats.get(plain) ?? 0
      repeats.set(plain, repeat + 1)
      const id = repeat === 0 ? plain : `${plain}-${repeat}`
      token.attrSet("id", id)
      sections.push({ id, title: inner, text: "", isPart: tag === "h2" })
    }
    for (const child of token.children ?? []) {
      if (child.type === "link_open") child.attrSet("href", addressOf(file, child.attrGet("href") ?? ""))
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
    return String(siteAddress.test(text) ? html`<a href="${text}">${code}</a>` : code)
  }
  return { html: markdownIt.renderer.render(tokens, markdownIt.options, {}), sections }
}
