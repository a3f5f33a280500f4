import { settingGroups } from "../../Config.ts"
import type { Setting } from "../../config/Setting.ts"
import { numberText, plural, sizeText } from "../../LimitWords.ts"
import { docsPage, inlineCode } from "./DocsPage.ts"

const anchorOf = (group: string): string => group.toLowerCase().replaceAll(/[^a-z]+/g, "-")

/** A setting's default as a person reads it, with code in backticks; empty where there is none. */
export const defaultText = ({ fallback, otherwise, unit }: Setting<unknown>): string => {
  if (otherwise !== undefined) return otherwise
  if (unit === undefined) return fallback === "" ? "" : `\`${fallback}\``
  const value = Number(fallback)
  return `\`${fallback}\`, ${unit === "bytes" ? sizeText(value) : plural(value, unit.slice(0, -1))}`
}

const grouped = (text: string): string => text.replaceAll(/\d{5,}/g, (digits) => numberText(Number(digits)))

const expectedText = ({ expected, unit }: Setting<unknown>): string =>
  expected.startsWith("a whole number") ? `${grouped(expected)}${unit === undefined ? "" : `, in ${unit}`}` : expected

const row = (setting: Setting<unknown>): string => {
  const fallback = defaultText(setting)
  return `<tr id="${setting.name}"><th scope="row"><a class="anchor" href="#${setting.name}"><code>${setting.name.replaceAll("_", "_<wbr>")}</code></a><br><span class="muted">${fallback === "" ? "no default" : `default ${inlineCode(fallback)}`}</span></th><td>${inlineCode(setting.meaning)}<br><span class="muted">Takes ${inlineCode(expectedText(setting))}.</span></td></tr>`
}

/** Every environment variable that the service reads, from where they are declared. */
export const configurationPage = (): string =>
  docsPage({
    current: "/docs/configuration",
    title: "Configuration",
    description: "Every environment variable of Agent Memory: its default, what it may hold, and what it does.",
    body: `<h1>Configuration</h1>
<p class="lead">The service is set by environment variables, all of them optional.</p>
<ul>
<li>They are read once, at the start. A wrong value stops it, and all of them are named with what they may hold.</li>
<li>A variable that is set to nothing counts as unset. Files like <code>.env</code> are loaded by whatever starts the service, not by itself.</li>
<li>Sizes are in bytes; KB and MB are powers of 1,024. All instances of one database are given the same settings.</li>
<li><code>agent-memory doctor</code> tries the settings, and says how to fix what it finds.</li>
</ul>
${settingGroups
  .map(
    ([name, settings]) => `<h2 id="${anchorOf(name)}"><a class="anchor" href="#${anchorOf(name)}">${name}</a></h2>
<table class="fields"><thead><tr><th scope="col">Variable and default</th><th scope="col">Meaning</th></tr></thead>
<tbody>${settings.map(row).join("\n")}</tbody></table>`
  )
  .join("\n")}`
  })

/** What the reference's search finds of the settings. */
export const settingEntries = () =>
  settingGroups.flatMap(([group, settings]) =>
    settings.map(({ meaning, name }) => ({
      title: name,
      note: `Setting: ${group}`,
      path: `/docs/configuration#${name}`,
      text: `${name} ${name.replaceAll("_", " ")} setting environment variable ${group} ${meaning}`.toLowerCase()
    }))
  )
