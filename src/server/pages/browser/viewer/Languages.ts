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
