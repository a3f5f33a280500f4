import { StreamLanguage, type StreamParser } from "@codemirror/language"
import type { Extension } from "@codemirror/state"

const stream = async <N extends string>(
  module: Promise<Readonly<Record<N, StreamParser<unknown>>>>,
  name: N
): Promise<Extension> => StreamLanguage.define((await module)[name])

const typescript = async (): Promise<Extension> =>
  (await import("@codemirror/lang-javascript")).javascript({ typescript: true, jsx: true })
const clike = () => import("@codemirror/legacy-modes/mode/clike")
const sql = async (): Promise<Extension> => (await import("@codemirror/lang-sql")).sql()

/** Languages by the names that CodeMirror knows them by; each is loaded when a text needs it. */
const languages: Readonly<Record<string, () => Promise<Extension>>> = {
  markdown: async () => (await import("@codemirror/lang-markdown")).markdown(),
  json: async () => (await import("@codemirror/lang-json")).json(),
  yaml: async () => (await import("@codemirror/lang-yaml")).yaml(),
  javascript: async () => (await import("@codemirror/lang-javascript")).javascript({ jsx: true }),
  typescript,
  python: async () => (await import("@codemirror/lang-python")).python(),
  html: async () => (await import("@codemirror/lang-html")).html(),
  css: async () => (await import("@codemirror/lang-css")).css(),
  sql,
  toml: () => stream(import("@codemirror/legacy-modes/mode/toml"), "toml"),
  shell: () => stream(import("@codemirror/legacy-modes/mode/shell"), "shell"),
  powershell: () => stream(import("@codemirror/legacy-modes/mode/powershell"), "powerShell"),
  dockerfile: () => stream(import("@codemirror/legacy-modes/mode/dockerfile"), "dockerFile"),
  go: () => stream(import("@codemirror/legacy-modes/mode/go"), "go"),
  rust: () => stream(import("@codemirror/legacy-modes/mode/rust"), "rust"),
  ruby: () => stream(import("@codemirror/legacy-modes/mode/ruby"), "ruby"),
  perl: () => stream(import("@codemirror/legacy-modes/mode/perl"), "perl"),
  lua: () => stream(import("@codemirror/legacy-modes/mode/lua"), "lua"),
  r: () => stream(import("@codemirror/legacy-modes/mode/r"), "r"),
  swift: () => stream(import("@codemirror/legacy-modes/mode/swift"), "swift"),
  c: () => stream(clike(), "c"),
  "c++": () => stream(clike(), "cpp"),
  "c#": () => stream(clike(), "csharp"),
  java: () => stream(clike(), "java"),
  kotlin: () => stream(clike(), "kotlin"),
  scala: () => stream(clike(), "scala"),
  xml: () => stream(import("@codemirror/legacy-modes/mode/xml"), "xml"),
  diff: () => stream(import("@codemirror/legacy-modes/mode/diff"), "diff"),
  nginx: () => stream(import("@codemirror/legacy-modes/mode/nginx"), "nginx"),
  "properties files": () => stream(import("@codemirror/legacy-modes/mode/properties"), "properties")
}

const aliases: Readonly<Record<string, string>> = {
  bash: "shell",
  bat: "powershell",
  cpp: "c++",
  csharp: "c#",
  fish: "shell",
  ini: "properties files",
  js: "javascript",
  jsx: "javascript",
  jsonc: "json",
  md: "markdown",
  properties: "properties files",
  env: "properties files",
  py: "python",
  rb: "ruby",
  rs: "rust",
  sh: "shell",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  yml: "yaml",
  zsh: "shell"
}

/** The name under which a language is known here, or undefined. Case makes no difference. */
export const knownLanguage = (name: string | null | undefined): string | undefined => {
  const lower = name?.toLowerCase() ?? ""
  const known = Object.hasOwn(aliases, lower) ? aliases[lower] : lower
  return known !== undefined && Object.hasOwn(languages, known) ? known : undefined
}

/** Loads a known language; a text without one stays plain. */
export const loadLanguage = async (name: string): Promise<Extension> => (await languages[name]?.()) ?? []

/** The name of the language that a field's name and content look like, or undefined for plain text. */
export const guessLanguage = (field: string, content: string): string | undefined =>
  byName(field) ?? byContent(content.slice(0, 4000))

const endings: ReadonlyArray<readonly [name: RegExp, language: string]> = [
  [/(^|[._-])(md|markdown|readme|notes?|body_md)$/i, "markdown"],
  [/(^|[._-])(ya?ml)$/i, "yaml"],
  [/(^|[._-])(json)$/i, "json"],
  [/(^|[._-])(toml)$/i, "toml"],
  [/(^|[._-])(sh|bash|zsh|shell|command|cmd)$/i, "shell"],
  [/(^|[._-])(sql)$/i, "sql"],
  [/(^|[._-])(html?)$/i, "html"],
  [/(^|[._-])(css)$/i, "css"],
  [/(^|[._-])(py|python)$/i, "python"],
  [/(^|[._-])(tsx?|typescript)$/i, "typescript"],
  [/(^|[._-])(m?jsx?|javascript)$/i, "javascript"],
  [/(^|[._-])(xml|svg)$/i, "xml"],
  [/(^|[._-])(dockerfile)$/i, "dockerfile"],
  [/(^|[._-])(ini|env|properties|conf)$/i, "properties"]
]

const byName = (field: string): string | undefined => endings.find(([name]) => name.test(field))?.[1]

// No two ways to match the same text, so that no text can make the guess take long.
const contents: ReadonlyArray<readonly [content: RegExp, language: string]> = [
  [/^#!.*\bpython/, "python"],
  [/^#!.*\bnode/, "javascript"],
  [/^#!.*\b(ba|z|k|da)?sh\b/, "shell"],
  [/^\s*<(!doctype html|html|head|body)\b/i, "html"],
  [/^\s*<(\?xml|svg)\b/i, "xml"],
  [/^\s*(\{\s*["}]|\[\s*[[{"\]\d])/, "json"],
  [/^FROM \S+[^]*^(RUN|CMD|COPY|ENTRYPOINT) /m, "dockerfile"],
  [/^(diff --git |--- a\/)/m, "diff"],
  [
    /^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE (TABLE|INDEX|VIEW)|ALTER TABLE|WITH)\b[^]*\b(FROM|VALUES|SET|TABLE|AS|ON)\b/i,
    "sql"
  ],
  [/^---\n[^]*?\n---\n/, "markdown"],
  [/^(#{1,6} \S|```|> \S)/m, "markdown"],
  [/^([-*+]|\d+\.) \S.*\n[ \t]*([-*+]|\d+\.) \S/m, "markdown"],
  [/\[[^\]\n]+\]\(\S+\)|\*\*\S[^*\n]*\*\*/, "markdown"],
  [/^\[\[?[\w.-]+\]\]?[ \t]*$[^]*^[\w.-]+[ \t]*=[ \t]/m, "toml"],
  [/^(def|class) \w.*:[ \t]*$|^(from \w[\w.]* )?import \w[\w., ]*$/m, "python"],
  [/^package \w+[ \t]*$[^]*^(func|import|type|var)\b/m, "go"],
  [/^[ \t]*(pub )?fn \w.*\{|^use \w+::\w.*;/m, "rust"],
  [/^(export )?(interface|type) \w[^\n]*[={]|:[ \t]*(string|number|boolean)\b.*[;,)=]/m, "typescript"],
  [/^[ \t]*(const|let|var|function|import|export|async)\b.*[;{(='"]/m, "javascript"],
  [/^[.#@\w*][^\n{};]{0,200}\{[^{};]{0,200}:[^{};]{0,200};/m, "css"],
  [/^[\w.-]+:( \S.*)?\n([ \t]+\S.*\n|- .*\n|\n)*[\w.-]+:( |\n|$)/m, "yaml"],
  [/^\$ \S|^(curl|git|npm|npx|docker|sudo|export|cd|kubectl|ssh) \S/m, "shell"]
]

const byContent = (content: string): string | undefined =>
  contents.find(([pattern]) => pattern.test(content.replaceAll("\r\n", "\n")))?.[1]
