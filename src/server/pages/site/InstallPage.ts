import { codeBlock } from "../CodeBlock.ts"
import { escapeHtml } from "../Html.ts"
import { page } from "../Page.ts"
import { clients, localNote, stepsOf } from "./Clients.ts"
import { restExamples } from "./RestExamples.ts"

/** How agents and programs are connected, ready to copy. */
export const installPage = (input: { readonly baseUrl: string; readonly loopback: boolean }): string => {
  const { baseUrl, loopback } = input
  const all = clients(`${baseUrl}/mcp`)
  const sections = all.map(
    (client) => `<section id="${client.id}"><h2>${client.name}</h2>
<div class="step">${stepsOf(client)}${localNote(client, baseUrl, loopback)}</div>
<div class="step">${client.blocks.map(([caption, text]) => codeBlock(caption, text)).join("\n")}</div></section>`
  )
  const languages = restExamples(baseUrl).map(([language, text]) => `<div>${codeBlock(language, text)}</div>`)
  return page({
    title: "Install",
    description: "Connect Claude, ChatGPT, Codex, Cursor, VS Code, Gemini CLI or your own code to Agent Memory.",
    robots: "index",
    current: "/install",
    main: `<main class="wide">
<h1>Connect an agent</h1>
<p class="lead">Give your agent one address. It signs you in with your browser; there is no key to paste.</p>
<div class="address">${codeBlock("MCP address", `${baseUrl}/mcp`)}</div>
<nav class="jump" aria-label="Clients"><ul>${all.map(({ id, name }) => `<li><a href="#${id}">${name}</a></li>`).join("")}<li><a href="#signing-in">Signing in</a></li><li><a href="#code">Your own code</a></li></ul></nav>
<div class="clients">${sections.join("\n")}</div>
<section id="signing-in"><h2>Signing in</h2>
<ol>
<li>Your agent opens a page in your browser. Type your e-mail address there, and then the 6-digit code that is mailed to you.</li>
<li>Choose what the agent may do: everything, only read, or everything in some tables while the others stay hidden from it.</li>
<li>It works from then on. <a href="/connections">Connected apps</a> lists all that you let in, each with a button that ends it.</li>
</ol></section>
<section id="code"><h2>Your own code</h2>
<p>Programs use the REST interface with an API key. <a href="/#start">Get a key</a> and keep it in the server's environment, never in code that a browser runs.
Every call is in the <a href="/docs">API reference</a>; the machine-readable contract is <a href="/openapi.json">${escapeHtml(baseUrl)}/openapi.json</a>.</p>
<div class="languages">${languages.join("\n")}</div></section>
</main>`
  })
}
