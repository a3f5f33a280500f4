import { escapeHtml } from "./Html.ts"

/** Text to copy, with a caption that says what it is for; the page's script adds a Copy button. */
export const codeBlock = (caption: string, text: string): string =>
  `<figure class="code"><figcaption>${escapeHtml(caption)}</figcaption><pre><code>${escapeHtml(text)}</code></pre></figure>`
