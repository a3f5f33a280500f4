import { settingGroups } from "../../config/Settings.ts"
import { amountText, numberText } from "../../../domain/Amounts.ts"
import type { Setting } from "../../config/Setting.ts"
import { html, type Html, inlineCode } from "../../doors/Html.ts"
import { docsPage, type SearchEntry } from "./DocsPage.ts"

const anchorOf = (group: string): string => group.toLowerCase().replaceAll(/[^a-z]+/g, "-")

/** A setting's default as a person reads it, with code in backticks; empty where there is none. */
export const defaultText = ({ fallback, measure, otherwise }: Setting<unknown>): string => {
  if (otherwise !== undefined) return otherwise
  if (measure === undefined) return fallback === "" ? "" : `\`${fallback}\``
  return `\`${fallback}\`, ${amountText(Number(fallback), measure)}`
}

const grouped = (text: string): string => text.replaceAll(/\d{5,}/g, (digits) => numberText(Number(digits)))

const expectedText = ({ expected, measure }: Setting<unknown>): string =>
  expected.startsWith("a whole number")
    ? `${grouped(expected)}${measure === undefined ? "" : `, in ${measure}`}`
    : expected

const row = (setting: Setting<unknown>): Html => {
  const { meaning, name } = setting
  const fallback = defaultText(setting)
  const breakable = name.split("_").map((part, index) => html`${index > 0 && html`_<wbr>`}${part}`)
  return html`<tr id="${name}"><th scope="row"><a class="anchor" href="#${name}"><code>${breakable}</code></a><br><span class="muted">${fallback === "" ? "no default" : html`default ${inlineCode(fallback)}`}</span></th><td>${inlineCode(meaning)}<br><span class="muted">Accepts ${inlineCode(expectedText(setting))}.</span></td></tr>\n`
}

/** Every environment variable that the service reads, from where they are declared. */
export const configurationPage = (): Html =>
  docsPage({
    current: "/docs/configuration",
    title: "Configuration",
    description: "Every environment variable of Agent Memory: its default, its accepted values, and what it does.",
    body: html`<h1>Configuration</h1>
<p class="lead">Environment variables configure the service. All of them are optional.</p>
<ul>
<li>They are read once, at startup. If a setting is invalid, the service stops and lists the accepted values of every invalid setting.</li>
<li>An empty variable counts as unset. The service doesn't load <code>.env</code> files: whatever starts it must.</li>
<li>Sizes are in bytes; KB and MB are powers of 1,024. All instances that share a database need the same settings.</li>
<li><code>agent-memory doctor</code> checks the settings, and says how to fix what it finds.</li>
</ul>
${settingGroups.map(
  ([name, settings]) => html`<h2 id="${anchorOf(name)}"><a class="anchor" href="#${anchorOf(name)}">${name}</a></h2>
<table class="fields"><thead><tr><th scope="col">Variable and default</th><th scope="col">Meaning</th></tr></thead>
<tbody>${settings.map(row)}</tbody></table>\n`
)}`
  })

/** What the search finds of the settings. */
export const settingEntries = (): ReadonlyArray<SearchEntry> =>
  settingGroups.flatMap(([group, settings]) =>
    settings.map(({ meaning, name }) => ({
      title: name,
      note: `Setting: ${group}`,
      path: `/docs/configuration#${name}`,
      text: `${name} ${name.replaceAll("_", " ")} setting environment variable ${group} ${meaning}`.toLowerCase()
    }))
  )
