import { escapeHtml } from "./Html.ts"

const maxName = 80

/** Control characters, and those without a shape that change the direction or the look of what stands around them. */
const unseen = /[\p{Cc}\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]+/gu

/**
 * The name that an app gives itself, in quotes, as HTML. Whoever chose it may want to be taken for somebody else: it
 * can't close its quotes, turn the text around it, cover it with accents, or push it out of sight.
 */
export const clientName = (name: string): string => {
  const plain = name
    .toWellFormed()
    .replaceAll(unseen, " ")
    .replaceAll(/["«»“”„‟〝〞＂]/g, "'")
    .replaceAll(/(\p{M}{3})\p{M}+/gu, "$1")
    .replaceAll(/\s+/g, " ")
    .trim()
  if (plain === "") return "An app without a name"
  const characters = [...plain]
  const shown = characters.length > maxName ? `${characters.slice(0, maxName).join("").trimEnd()}…` : plain
  return `<span class="client-name">“<bdi>${escapeHtml(shown)}</bdi>”</span>`
}
