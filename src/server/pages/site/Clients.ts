import { escapeHtml } from "../Html.ts"

/** How one MCP client is connected. `steps` are sentences in HTML; `blocks` are texts to copy, each with a caption. */
export interface Client {
  readonly id: string
  readonly name: string
  readonly steps: ReadonlyArray<string>
  readonly blocks: ReadonlyArray<readonly [caption: string, text: string]>
  /** The client runs elsewhere, so it can't reach a service on this machine. */
  readonly needsPublicAddress?: boolean
}

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** The set-up of every client that is known here. `mcp` is the address of the MCP endpoint. */
export const clients = (mcp: string): ReadonlyArray<Client> => {
  const address = ["MCP address", mcp] as const
  return [
    {
      id: "claude-code",
      name: "Claude Code",
      steps: ["Add the server.", "Start <code>claude</code>, type <code>/mcp</code>, choose agent-memory and sign in."],
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
        "In Settings, open Apps &amp; Connectors, then Advanced settings, and turn on Developer mode.",
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
        "Put this into <code>~/.cursor/mcp.json</code>, or <code>.cursor/mcp.json</code> in a project.",
        "Open Settings, then MCP, and choose Connect beside agent-memory."
      ],
      blocks: [["mcp.json", json({ mcpServers: { "agent-memory": { url: mcp } } })]]
    },
    {
      id: "vs-code",
      name: "VS Code",
      steps: [
        "Add the server from a terminal, or put the file into <code>.vscode/mcp.json</code>.",
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
      steps: ["Add the server.", "Start <code>gemini</code> and type <code>/mcp auth agent-memory</code> to sign in."],
      blocks: [["Terminal", `gemini mcp add --transport http agent-memory ${mcp}`]]
    },
    {
      id: "any-client",
      name: "Any other client",
      steps: [
        `Give it the address. It speaks Streamable HTTP and signs in with OAuth by itself: there is no client id or secret to enter.`,
        "A client that only starts programs (stdio) connects through <code>mcp-remote</code>."
      ],
      blocks: [address, ["For a stdio client", json({ command: "npx", args: ["-y", "mcp-remote", mcp] })]]
    }
  ]
}

/** A client's steps as a list. */
export const stepsOf = (client: Client): string => `<ol>${client.steps.map((step) => `<li>${step}</li>`).join("")}</ol>`

/** What to know where the service answers on one machine alone, for clients that run elsewhere. */
export const localNote = (client: Client, baseUrl: string, loopback: boolean): string =>
  client.needsPublicAddress === true && loopback
    ? `<p class="note">${escapeHtml(client.name)} runs elsewhere, so it can't reach ${escapeHtml(baseUrl)}. Serve Agent Memory at a public https address first (<code>BASE_URL</code>).</p>`
    : ""
