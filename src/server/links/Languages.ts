import { decodeString } from "../../domain/json/Strings.ts"
import { members } from "../../domain/json/Members.ts"
import type { Row } from "../../domain/Row.ts"

// Each language with the endings of its files, the usual one first, and the other words that mean it. Browsers run HTML,
// SVG and XML from a disk, so that those files end like plain text.
const languages: Readonly<Record<string, { readonly ending: string; readonly words: string }>> = {
  markdown: { ending: "md", words: "md mdx text/markdown text/x-markdown" },
  json: { ending: "json", words: "jsonc json5 jsonl application/json" },
  yaml: { ending: "yaml", words: "yml application/yaml application/x-yaml text/yaml text/x-yaml" },
  toml: { ending: "toml", words: "application/toml" },
  shell: { ending: "sh", words: "sh bash zsh fish ksh dash command shellscript text/x-sh application/x-sh" },
  powershell: { ending: "ps1", words: "pwsh ps1" },
  javascript: { ending: "js", words: "js mjs cjs node text/javascript application/javascript" },
  jsx: { ending: "jsx", words: "" },
  typescript: { ending: "ts", words: "ts mts cts text/typescript application/typescript" },
  tsx: { ending: "tsx", words: "" },
  python: { ending: "py", words: "py python3 text/x-python" },
  css: { ending: "css", words: "scss less text/css" },
  html: { ending: "txt", words: "htm vue svelte text/html" },
  xml: { ending: "txt", words: "svg text/xml application/xml image/svg+xml" },
  sql: { ending: "sql", words: "postgres postgresql mysql sqlite application/sql" },
  go: { ending: "go", words: "golang" },
  rust: { ending: "rs", words: "rs" },
  java: { ending: "java", words: "" },
  kotlin: { ending: "kt", words: "kt" },
  c: { ending: "c", words: "h" },
  cpp: { ending: "cpp", words: "c++ cc cxx hpp" },
  csharp: { ending: "cs", words: "c# cs" },
  ruby: { ending: "rb", words: "rb" },
  php: { ending: "php", words: "" },
  lua: { ending: "lua", words: "" },
  swift: { ending: "swift", words: "" },
  dockerfile: { ending: "dockerfile", words: "docker" },
  properties: { ending: "ini", words: "ini env dotenv conf" },
  diff: { ending: "diff", words: "patch text/x-diff" }
}

const byWord = new Map(
  Object.entries(languages).flatMap(([name, { ending, words }]) =>
    `${name} ${ending === "txt" ? "" : ending} ${words}`
      .split(/ +/)
      .flatMap((word) => (word === "" ? [] : [[word, name] as const]))
  )
)

const languageOfWord = (word: string): string | undefined =>
  byWord.get(word.trim().toLowerCase().split(";", 1)[0]!.trim())

const telling = ["language", "format", "media_type", "shell", "type"]

/** The language that a row names for its text in `language`, `format`, `media_type`, `shell` or `type`, in this order. */
export const languageOf = (row: Row): string | undefined => {
  const fields = new Map(members(row.data).map(({ name, value }) => [name, value]))
  for (const name of telling) {
    const value = fields.get(name)
    // A word that tells is short.
    if (value === undefined || value[0] !== '"' || value.length > 100) continue
    const language = languageOfWord(decodeString(value))
    if (language !== undefined) return language
  }
  return undefined
}

/** How a file's name ends (`.md`), by the language of its text or else by the name of its field. */
export const endingOf = (language: string | undefined, field: string): string => {
  const known = language ?? languageOfWord(field) ?? languageOfWord(/\.([^.]+)$/.exec(field)?.[1] ?? "")
  return `.${known === undefined ? "txt" : languages[known]!.ending}`
}
