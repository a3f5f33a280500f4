import { codeBlock, html, type Html, inlineCode } from "../../doors/Html.ts"
import { wishes } from "../../mcp/ToolGuide.ts"
import { page } from "../Page.ts"

/** How to connect one MCP client. `steps` are sentences with code in backticks; `blocks` are texts to copy. */
interface Client {
  readonly id: string
  readonly name: string
  readonly steps: ReadonlyArray<string>
  readonly blocks: ReadonlyArray<readonly [caption: string, text: string]>
  /** The client runs elsewhere, so it can't reach a service on this machine. */
  readonly needsPublicAddress?: boolean
}

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** The setup of every client that is documented here. `mcp` is the address of the MCP endpoint. */
export const clients = (mcp: string): ReadonlyArray<Client> => {
  const address = ["MCP address", mcp] as const
  return [
    {
      id: "claude-code",
      name: "Claude Code",
      steps: ["Add the server.", "Start `claude`, type `/mcp`, choose agent-memory and sign in."],
      blocks: [["Terminal", `claude mcp add --transport http agent-memory ${mcp}`]]
    },
    {
      id: "claude-web",
      name: "Claude on the web",
      steps: [
        "Open Settings, then Connectors, and choose Add custom connector.",
        "Name it Agent Memory, paste the address and choose Add.",
        "Choose Connect and sign in."
      ],
      blocks: [address],
      needsPublicAddress: true
    },
    {
      id: "chatgpt",
      name: "ChatGPT",
      steps: [
        "In Settings, open Apps & Connectors, then Advanced settings, and turn on Developer mode.",
        "Choose Create, name it Agent Memory, paste the address and choose OAuth.",
        "Sign in, then turn the connector on in a chat."
      ],
      blocks: [address],
      needsPublicAddress: true
    },
    {
      id: "codex",
      name: "Codex",
      steps: ["Add the server; your browser opens to sign in."],
      blocks: [
        ["Terminal", `codex mcp add agent-memory --url ${mcp}`],
        ["To sign in again later", "codex mcp login agent-memory"]
      ]
    },
    {
      id: "cursor",
      name: "Cursor",
      steps: [
        "Add this to `~/.cursor/mcp.json`, or `.cursor/mcp.json` in a project.",
        "Open Settings, then MCP, and choose Connect beside agent-memory."
      ],
      blocks: [["mcp.json", json({ mcpServers: { "agent-memory": { url: mcp } } })]]
    },
    {
      id: "vs-code",
      name: "VS Code",
      steps: [
        "Add the server from a terminal, or put this file at `.vscode/mcp.json`.",
        "Choose Start above it in the file, and sign in."
      ],
      blocks: [
        ["Terminal", `code --add-mcp '${JSON.stringify({ name: "agent-memory", type: "http", url: mcp })}'`],
        [".vscode/mcp.json", json({ servers: { "agent-memory": { type: "http", url: mcp } } })]
      ]
    },
    {
      id: "gemini-cli",
      name: "Gemini CLI",
      steps: ["Add the server.", "Start `gemini` and type `/mcp auth agent-memory` to sign in."],
      blocks: [["Terminal", `gemini mcp add --transport http agent-memory ${mcp}`]]
    },
    {
      id: "any-client",
      name: "Any other client",
      steps: [
        "Give it the address. Clients use Streamable HTTP and sign in with OAuth by themselves: there is no client id or secret to enter.",
        "A client that only starts programs (stdio) connects through `mcp-remote`."
      ],
      blocks: [address, ["For a stdio client", json({ command: "npx", args: ["-y", "mcp-remote", mcp] })]]
    }
  ]
}

/** One add and one query over REST in three languages. The key is an environment variable. */
export const restExamples = (baseUrl: string): ReadonlyArray<readonly [language: string, text: string]> => [
  [
    "curl",
    `export AGENT_MEMORY_API_KEY=svc_live_…

curl '${baseUrl}/v1/notes' \\
  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"topic":"coffee","text":"Ada drinks it black"}'

curl -G '${baseUrl}/v1/notes' \\
  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY" \\
  --data-urlencode 'filter={"topic":"coffee"}'`
  ],
  [
    "TypeScript",
    `const notes = "${baseUrl}/v1/notes"
const headers = {
  authorization: \`Bearer \${process.env.AGENT_MEMORY_API_KEY}\`,
  "content-type": "application/json"
}

await fetch(notes, {
  method: "POST",
  headers,
  body: JSON.stringify({ topic: "coffee", text: "Ada drinks it black" })
})

const filter = encodeURIComponent(JSON.stringify({ topic: "coffee" }))
const response = await fetch(\`\${notes}?filter=\${filter}\`, { headers })
console.log(await response.json())`
  ],
  [
    "Python",
    `import json, os, urllib.parse, urllib.request

notes = "${baseUrl}/v1/notes"
headers = {
    "Authorization": f"Bearer {os.environ['AGENT_MEMORY_API_KEY']}",
    "Content-Type": "application/json",
}

row = json.dumps({"topic": "coffee", "text": "Ada drinks it black"}).encode()
urllib.request.urlopen(urllib.request.Request(notes, data=row, headers=headers))

query = urllib.parse.urlencode({"filter": json.dumps({"topic": "coffee"})})
with urllib.request.urlopen(urllib.request.Request(f"{notes}?{query}", headers=headers)) as response:
    print(json.load(response))`
  ]
]

const clientSection = (client: Client, baseUrl: string, loopback: boolean): Html => {
  const { blocks, id, name, needsPublicAddress, steps } = client
  return html`<section id="${id}"><h2>${name}</h2>
<div class="step"><ol>${steps.map((step) => html`<li>${inlineCode(step)}</li>`)}</ol>${
    needsPublicAddress === true &&
    loopback &&
    html`<p class="note">${name} doesn't run on this machine, so it can't reach ${baseUrl}. Serve Agent Memory at a public https address first (<code>BASE_URL</code>).</p>`
  }</div>
<div class="step">${blocks.map(([caption, text]) => codeBlock(caption, text))}</div></section>\n`
}

/** How to connect agents and programs, ready to copy. `loopback` says that the service is for this machine only. */
export const installPage = (input: { readonly baseUrl: string; readonly loopback: boolean }): Html => {
  const { baseUrl, loopback } = input
  const all = clients(`${baseUrl}/mcp`)
  return page({
    title: "Install",
    description: "Connect Claude, ChatGPT, Codex, Cursor, VS Code, Gemini CLI or your own code to Agent Memory.",
    robots: "index",
    current: "/install",
    styles: ["home.css"],
    main: html`<main class="wide">
<h1>Connect an agent</h1>
<p class="lead">Give your agent one address. It opens your browser to sign in. There is no key to paste.</p>
<div class="address">${codeBlock("MCP address", `${baseUrl}/mcp`)}</div>
<nav class="jump" aria-label="Clients"><ul>${all.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>`)}<li><a href="#signing-in">Signing in</a></li><li><a href="#first-words">What to say first</a></li><li><a href="#code">Your own code</a></li></ul></nav>
<div class="clients">${all.map((client) => clientSection(client, baseUrl, loopback))}</div>
<section id="signing-in"><h2>Signing in</h2>
<ol>
<li>Your agent opens a page in your browser. Enter your email address there, then the 6-digit code that you get by mail.</li>
<li>Choose what the agent may do: everything, read only, or everything in selected tables while the others stay hidden.</li>
<li>The agent is connected. <a href="/apps">Connected apps</a> lists all apps that have access. You can disconnect each of them there.</li>
</ol></section>
<section id="first-words"><h2>What to say first</h2>
<p>Say to your agent: “Remember that I prefer dark mode.” In another conversation ask: “Which theme do I like?” Agents find out by themselves which tool is for which wish:</p>
<ul>${wishes.map(({ tool, wish }) => html`<li>${wish}: ${inlineCode(tool)}</li>`)}</ul>
<p>The <a href="/docs/tools">MCP tools</a> have all arguments, and an example of a query, a batch and an upsert.</p></section>
<section id="code"><h2>Your own code</h2>
<p>Programs use the REST API with an API key. <a href="/keys">Create a key</a> and keep it in the server's environment, never in code that a browser runs.
The <a href="/docs#reference">API reference</a> has every call; the machine-readable contract is <a href="/openapi.json">${baseUrl}/openapi.json</a>.</p>
<div class="languages">${restExamples(baseUrl).map(([language, text]) => html`<div>${codeBlock(language, text)}</div>`)}</div></section>
</main>`
  })
}
