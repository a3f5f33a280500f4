import { decodeString } from "../../domain/json/Strings.ts"
import { rowText } from "../../domain/Row.ts"
import { endingOf, languageOf } from "./Languages.ts"
import type { LinkContent } from "./LinkContent.ts"

/** A link's content as a file. */
interface Download {
  readonly body: string
  readonly contentType: string
  readonly name: string
}

const asJson = (body: string, name: string): Download => ({
  body,
  contentType: "application/json",
  name: `${name}.json`
})

/** The row's object, the field's own bytes, or `{rows, has_more}`. */
export const downloadOf = (content: LinkContent): Download => {
  switch (content.kind) {
    case "row":
      return asJson(rowText(content.row).text, `${content.table}-${content.row.id}`)
    case "query": {
      const rows = content.rows.map((row) => rowText(row).text)
      return asJson(`{"rows":[${rows.join()}],"has_more":${content.hasMore}}`, `${content.target.table}-rows`)
    }
    case "text": {
      const { field, row, table } = content
      const text = decodeString(field.value)
      const name = `${table}-${safeName(field.name)}`
      // No encoding of UTF-8 has half a surrogate pair: only JSON can spell it.
      if (!text.isWellFormed()) return asJson(field.value, name)
      const ending = endingOf(languageOf(row), field.name)
      return {
        body: text,
        contentType: "text/plain; charset=utf-8",
        name: name.endsWith(ending) ? name : name + ending
      }
    }
  }
}

/** Letters, digits and the like; neither paths nor control characters, and no ending of its own that would count. */
const safeName = (field: string): string => {
  const name = Array.from(field.toWellFormed())
    .slice(0, 80)
    .join("")
    .normalize("NFC")
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "_")
    .replace(/\.{2,}/g, ".")
    .replace(/^\.+|\.+$/g, "")
  return name === "" ? "field" : name
}

const escapes: Record<string, string> = { "'": "%27", "(": "%28", ")": "%29", "*": "%2A", "!": "%21" }

/** `Content-Disposition` of an attachment (RFC 6266); the second spelling (RFC 8187) has the letters beyond ASCII. */
export const attachment = (name: string): string => {
  const ascii = name.replace(/[^\w.-]/g, "_")
  const encoded = encodeURIComponent(name).replace(/['()*!]/g, (character) => escapes[character]!)
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
