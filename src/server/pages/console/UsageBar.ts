import { numberText } from "../../../domain/Amounts.ts"
import { html, type Html } from "../../doors/Html.ts"

/** From this share of a limit on, a person is warned. */
const warnFrom = 0.8

const kib = 1024

/** Bytes for reading at a glance: `812 bytes`, `3.4 KB`, `25 MB`. */
export const bytesText = (bytes: number): string => {
  if (bytes < kib) return `${numberText(bytes)} ${bytes === 1 ? "byte" : "bytes"}`
  const [value, unit] = bytes < kib * kib ? [bytes / kib, "KB"] : [bytes / kib / kib, "MB"]
  return `${numberText(Math.round(value * 10) / 10)} ${unit}`
}

/** How much of a limit is used, as a bar with words beside it, and a warning from 80 % on. */
export const bar = (label: string, used: number, limit: number, text: (value: number) => string): Html => {
  const isNear = used >= warnFrom * limit
  return html`<div class="bar"${isNear && html` data-near`}>
<span>${label}</span><span>${text(used)} of ${text(limit)}${isNear && html` <strong class="warning">${used >= limit ? "Full" : "Nearly full"}</strong>`}</span>
<meter min="0" max="${limit}" high="${warnFrom * limit}" value="${Math.min(used, limit)}" aria-label="${label}"></meter></div>\n`
}
