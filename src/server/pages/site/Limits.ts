import { maxQueryLimit } from "../../../domain/Limits.ts"
import type { ServiceLimits } from "../../Config.ts"
import { numberText, plural, sizeText } from "../../LimitWords.ts"
import { escapeHtml } from "../Html.ts"

/** This service's limits in words, as its settings have them: what is limited, and to how much. */
export const limitFacts = (limits: ServiceLimits): ReadonlyArray<readonly [what: string, value: string]> => [
  ["Tables in an account", numberText(limits.tables)],
  ["Rows in a table", numberText(limits.rowsPerTable)],
  ["Size of a row", sizeText(limits.rowBytes)],
  ["All rows of an account", sizeText(limits.storageBytes)],
  ["Operations in a batch", numberText(limits.batchOperations)],
  ["Rows in one answer", numberText(maxQueryLimit)],
  [
    "Writes",
    `${numberText(limits.writesPerMinute)} a minute and key, ${numberText(limits.accountWritesPerMinute)} in all`
  ],
  [
    "Reads",
    `${numberText(limits.readsPerMinute)} a minute and key, ${numberText(limits.accountReadsPerMinute)} in all`
  ],
  ["Versions kept of a row", `the last ${numberText(limits.versionsPerRow)}, for ${plural(limits.versionDays, "day")}`],
  ["Active keys", numberText(limits.activeKeys)],
  ["Life of a sign-in link", plural(limits.magicLinkMinutes, "minute")]
]

/** The limits as a table. */
export const limitsTable = (limits: ServiceLimits): string => `<table class="limits">
<thead><tr><th scope="col">What</th><th scope="col">At most</th></tr></thead>
<tbody>${limitFacts(limits)
  .map(([what, value]) => `<tr><th scope="row">${escapeHtml(what)}</th><td>${escapeHtml(value)}</td></tr>`)
  .join("")}</tbody>
</table>`
