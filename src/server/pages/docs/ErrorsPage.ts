import { codeBlock } from "../CodeBlock.ts"
import { docsPage, inlineCode } from "./DocsPage.ts"
import { explanations } from "./Explanations.ts"
import { problems } from "./Problems.ts"

/** Every error code: what happened, why, what to do, and an example. A problem's `type` leads to its anchor. */
export const errorsPage = (): string =>
  docsPage({
    current: "/docs/errors",
    title: "Errors",
    description: "Every error code of Agent Memory: what happened, why, and what to do.",
    body: `<h1>Errors</h1>
<p class="lead">Every failure is <code>application/problem+json</code>. Programs read <code>code</code>; its <code>hint</code> says the next call to make.</p>
<p>Report the <code>request_id</code>, also in the header <code>X-Request-Id</code>, when something seems wrong here.</p>
${problems
  .map(
    ({ code, example, hint, statuses, title }) => `<section class="error" id="${code}">
<h2><a class="anchor" href="#${code}"><code>${code}</code></a> <span class="status">${statuses.join(" or ")}</span></h2>
<p><strong>${inlineCode(title)}.</strong> ${inlineCode(explanations[code]?.why ?? "")}</p>
<p>${inlineCode(hint)}</p>
<details><summary>Example of ${code}</summary>${codeBlock("Body", example)}</details>
</section>`
  )
  .join("\n")}`
  })
