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
