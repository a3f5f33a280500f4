import MarkdownIt from "markdown-it"

const ALLOWED = /^(?:https?:|mailto:)/i

const markdown = new MarkdownIt({ html: false, linkify: true })
markdown.validateLink = (address) => ALLOWED.test(address.trim())

const { rules } = markdown.renderer
const escape = (text: string): string => markdown.utils.escapeHtml(text)

rules["link_open"] = (tokens, index, options, _env, renderer) => {
  const token = tokens[index]
  token?.attrSet("rel", "noopener noreferrer")
  token?.attrSet("target", "_blank")
  return renderer.renderToken(tokens, index, options)
}

// Loading an image would tell its host who reads this, so it is shown as a link.
rules["image"] = (tokens, index) => {
  const token = tokens[index]
  const address = String(token?.attrGet("src") ?? "")
  const words = escape(token?.content === "" ? address : (token?.content ?? ""))
  if (!ALLOWED.test(address)) return `<span>${words}</span>`
  return `<a href="${escape(address)}" rel="noopener noreferrer" target="_blank">Image: ${words}</a>`
}

// The alignment of table cells comes as a style attribute, which the Content-Security-Policy forbids.
for (const name of ["th_open", "td_open"]) {
  rules[name] = (tokens, index, options, _env, renderer) => {
    const token = tokens[index]
    const side = /text-align:(left|center|right)/.exec(String(token?.attrGet("style") ?? ""))?.[1]
    if (token !== undefined) token.attrs = side === undefined ? [] : [["class", `align-${side}`]]
    return renderer.renderToken(tokens, index, options)
  }
}

/** Markdown as HTML without anything stored that could run, load or style: raw HTML comes out as text. */
export const renderMarkdown = (text: string): string => markdown.render(text)
