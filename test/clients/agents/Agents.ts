import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** What an agent's commands are made of. */
interface Setting {
  /** Where its packages are installed. */
  readonly packages: string
  readonly home: string
  readonly mcp: string
  readonly model: string
}

/** A program and its arguments. */
export type Command = readonly [program: string, ...argv: ReadonlyArray<string>]

/** A coding agent: how a person adds the service to it, logs in, and has it work. */
export interface Agent {
  readonly name: string
  readonly variables: (setting: Setting) => Readonly<Record<string, string>>
  readonly prepare?: (setting: Setting) => void
  readonly add?: (setting: Setting) => Command
  readonly logIn?: (setting: Setting) => Command
  readonly work: (setting: Setting) => Command
}

const platform = `${process.platform}-${process.arch}`
const prompt = "Do the tasks that you know."

// They want a terminal to log in from.
const inTerminal = (command: string): Command =>
  process.platform === "darwin"
    ? ["script", "-q", "/dev/null", "sh", "-c", command]
    : ["script", "-qec", command, "/dev/null"]

const claudeFile = ({ packages }: Setting) => join(packages, `@anthropic-ai/claude-code-${platform}/claude`)

const claude: Agent = {
  name: "Claude Code",
  variables: ({ model }) => ({
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: "fake",
    ENABLE_TOOL_SEARCH: "false",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1"
  }),
  add: (setting) => [claudeFile(setting), "mcp", "add", "--transport", "http", "memory", setting.mcp],
  logIn: (setting) => inTerminal(`'${claudeFile(setting)}' mcp login memory`),
  work: (setting) => [claudeFile(setting), "-p", prompt, "--model", "fake", "--allowedTools", "mcp__memory"]
}

const codexFile = ({ packages }: Setting) => join(packages, "@openai/codex/bin/codex.js")

const codex: Agent = {
  name: "Codex",
  variables: () => ({ FAKE_KEY: "fake" }),
  // Adding logs in at once.
  add: (setting) => [process.execPath, codexFile(setting), "mcp", "add", "memory", "--url", setting.mcp],
  work: (setting) => [
    process.execPath,
    codexFile(setting),
    "exec",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "-c",
    `model_providers.fake={name="fake",base_url="${setting.model}/v1",wire_api="responses",env_key="FAKE_KEY"}`,
    "-c",
    "model_provider=fake",
    "-c",
    "model=fake",
    prompt
  ]
}

const opencodeFile = ({ packages }: Setting) => join(packages, `opencode-${platform}/bin/opencode`)

const opencode: Agent = {
  name: "opencode",
  variables: () => ({ OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" }),
  prepare: ({ home, mcp, model }) => {
    mkdirSync(join(home, ".config/opencode"), { recursive: true })
    const settings = {
      mcp: { memory: { type: "remote", url: mcp } },
      provider: {
        fake: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${model}/v1`, apiKey: "fake" },
          models: { fake: { name: "Fake", tool_call: true } }
        }
      }
    }
    writeFileSync(join(home, ".config/opencode/opencode.json"), JSON.stringify(settings))
  },
  logIn: (setting) => inTerminal(`'${opencodeFile(setting)}' mcp auth memory`),
  work: (setting) => [opencodeFile(setting), "run", "--auto", "-m", "fake/fake", prompt]
}

export const agents: ReadonlyArray<Agent> = [claude, codex, opencode]
