import { Result } from "effect"
import { print, type JsonText } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { objectOf, type Member } from "../../../domain/json/Members.ts"
import { scan } from "../../../domain/json/ParseEnvelope.ts"
import { withLineFeeds, withStoredEndings } from "../../../domain/RowMerge.ts"
import { systemFields } from "../../../domain/Row.ts"
import { html, type Html } from "../../doors/Html.ts"
import { kindOf, lineOf, type Kind, asSent, survivesForms } from "./Cells.ts"

/** A form has controls for this many fields; of a row with more, the JSON is edited. */
export const mostFields = 100

const freshLines = 2

/** A value that is longer has a page of its own. */
const longestControl = 2000

/** Whether a stored field has controls in the form; others stay as they are. A name has a control of one line. */
const isEditable = ({ name, value }: Member): boolean =>
  value.length <= longestControl &&
  name === asSent(name) &&
  !name.includes("\n") &&
  (kindOf(value) !== "text" || survivesForms(decodeString(value)))

const shownOf = (value: string): string => {
  const kind = kindOf(value)
  return kind === "text" ? decodeString(value) : kind === "null" ? "" : value
}

const kinds: ReadonlyArray<readonly [Kind, string]> = [
  ["text", "Text"],
  ["number", "Number"],
  ["boolean", "True or false"],
  ["null", "Null"],
  ["json", "JSON"]
]

/** What people call a kind of value. */
export const kindWords = (kind: Kind): string => kinds.find(([one]) => one === kind)![1]

/** The kinds to choose from. */
export const kindOptions = (chosen: string): ReadonlyArray<Html> =>
  kinds.map(([kind, words]) => html`<option value="${kind}"${kind === chosen && " selected"}>${words}</option>`)

interface Line {
  readonly index: number
  readonly name: string
  readonly kind: Kind
  readonly shown: string
  readonly isRemoved: boolean
  readonly fault: string | undefined
}

const typeSelect = ({ index, kind, name }: Line): Html =>
  html`<select name="type_${index}" aria-label="Type of ${name === "" ? "the new field" : name}">${kindOptions(kind)}</select>`

const isLong = (text: string): boolean => /[\n\r]/.test(text) || text.length > 80

const valueControl = ({ fault, index, kind, name, shown }: Line): Html => {
  const label = html` aria-label="Value of ${name === "" ? "the new field" : name}"${fault !== undefined && html` aria-invalid="true" aria-describedby="fault-${index}"`}`
  // HTML drops a line feed at the beginning of the element.
  if (isLong(shown) || kind === "json") {
    return html`<textarea name="value_${index}" rows="${Math.min(8, Math.max(2, Math.ceil(shown.length / 60)))}"${label}>\n${shown}</textarea>`
  }
  return html`<input name="value_${index}" value="${shown}" autocomplete="off" autocapitalize="none" spellcheck="false"${label}>`
}

const faultLine = ({ fault, index }: Line) =>
  fault !== undefined && html`<p class="form-fault" id="fault-${index}" role="alert">${fault}</p>`

const storedLine = (line: Line, member: Member, textPath: string): Html => {
  const { name, value } = member
  const { index } = line
  if (!isEditable(member)) {
    const kind = kindOf(value)
    const where =
      kind === "text"
        ? html`<a href="${textPath}?field=${encodeURIComponent(name)}">Open the text</a>`
        : html`<span class="muted">Edit it as JSON</span>`
    return html`<tr><th scope="row">${name}</th><td class="muted">${kindWords(kind)}</td><td>${lineOf(value, 300)}<br>${where}<input type="hidden" name="keep_${index}" value="1"></td><td></td></tr>\n`
  }
  return html`<tr><th scope="row"><input name="name_${index}" value="${line.name}" aria-label="Name of ${name}" autocomplete="off" autocapitalize="none" spellcheck="false"></th><td>${typeSelect(line)}</td><td>${valueControl(line)}${faultLine(line)}${kindOf(value) === "text" && isLong(shownOf(value)) && html`<a class="small" href="${textPath}?field=${encodeURIComponent(name)}">Open in the editor</a>`}</td><td><label class="check"><input type="checkbox" name="remove_${index}" value="1"${line.isRemoved && " checked"}>Remove<span class="visually-hidden"> ${name}</span></label></td></tr>\n`
}

const freshLine = (line: Line): Html =>
  html`<tr><th scope="row"><input name="name_${line.index}" value="${line.name}" placeholder="New field" aria-label="Name of a new field" autocomplete="off" autocapitalize="none" spellcheck="false"></th><td>${typeSelect(line)}</td><td>${valueControl(line)}${faultLine(line)}</td><td></td></tr>\n`

/** What a form sent, by the names of its controls. */
export type Sent = ReadonlyMap<string, string>

/** The first value of each name. `URLSearchParams` looks through all of them for each that is asked for. */
export const sentBy = (form: URLSearchParams): Sent => {
  const sent = new Map<string, string>()
  for (const [name, value] of form) if (!sent.has(name)) sent.set(name, value)
  return sent
}

/** What was typed into a form that could not be read, and what is wrong with it, by the numbers of its lines. */
export interface Typed {
  readonly fields: Sent
  readonly faults: ReadonlyMap<number, string>
}

/** The kind of a value that a form names. */
export const kindIn = (text: string | undefined): Kind | undefined => kinds.find(([kind]) => kind === text)?.[0]

/**
 * The lines of a form: one for each stored field, or each name to fill in, and empty ones for new fields. Where the stored
 * fields are no longer known, the lines are those that were typed.
 */
export const formLines = (input: {
  readonly stored: ReadonlyArray<Member> | undefined
  /** Names of fields to fill in, with the kind that they have in other rows. */
  readonly suggested?: ReadonlyArray<readonly [name: string, kind: Kind]>
  readonly textPath?: string
  readonly typed?: Typed | undefined
}): Html => {
  const { stored, suggested = [], textPath = "", typed } = input
  const line = (index: number, name: string, kind: Kind, shown: string): Line => ({
    index,
    name: typed?.fields.get(`name_${index}`) ?? name,
    kind: kindIn(typed?.fields.get(`type_${index}`)) ?? kind,
    shown: typed?.fields.get(`value_${index}`) ?? shown,
    isRemoved: typed?.fields.has(`remove_${index}`) === true,
    fault: typed?.faults.get(index)
  })
  const known = (stored ?? []).map((member, index) =>
    storedLine(line(index, member.name, kindOf(member.value), shownOf(member.value)), member, textPath)
  )
  const begun = [...suggested, ...Array.from({ length: freshLines }, () => ["", "text"] as const)]
  const fresh =
    stored === undefined
      ? Array.from({ length: mostFields + freshLines }, (_, index) => line(index, "", "text", "")).filter(
          ({ index }) => typed?.fields.has(`value_${index}`) === true
        )
      : begun.map(([name, kind], nth) => line(stored.length + nth, name, kind, ""))
  return html`<div class="fields-frame"><table class="fields">
<thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Value</th><th scope="col"><span class="visually-hidden">Remove</span></th></tr></thead>
<tbody>
${known}${fresh.map(freshLine)}</tbody></table></div>`
}

const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** The JSON of a typed value, or what is wrong with it. `before` is the stored text that was edited. */
export const valueOf = (kind: Kind, typed: string, before?: string): Result.Result<string, string> => {
  switch (kind) {
    case "text":
      return Result.succeed(
        print(before === undefined ? withLineFeeds(typed) : withStoredEndings(before, withLineFeeds(typed)))
      )
    case "number":
      return number.test(typed.trim())
        ? Result.succeed(typed.trim())
        : Result.fail("Enter a number such as 12, -0.5 or 1e6.")
    case "boolean":
      return /^(?:true|false)$/.test(typed.trim()) ? Result.succeed(typed.trim()) : Result.fail("Enter true or false.")
    case "null":
      return typed === "" ? Result.succeed("null") : Result.fail("Choose another type, or clear the value.")
    case "json": {
      const { issue, value } = scan(typed)
      return issue === undefined ? Result.succeed(value.text) : Result.fail(issue.message)
    }
  }
}

const isUntouched = ({ name, value }: Member, sent: Sent, index: number): boolean =>
  sent.get(`name_${index}`) === name &&
  sent.get(`type_${index}`) === kindOf(value) &&
  withLineFeeds(sent.get(`value_${index}`) ?? "") === asSent(shownOf(value))

/**
 * The row that a form makes of the stored fields. What was not touched keeps every byte, escapes and digits included. The
 * failure says what is wrong with which line.
 */
export const readFields = (
  sent: Sent,
  stored: ReadonlyArray<Member>
): Result.Result<JsonText, ReadonlyMap<number, string>> => {
  const faults = new Map<number, string>()
  const kept = new Set<string>()
  const typed: Array<readonly [index: number, name: string]> = []
  const made: Array<Pick<Member, "rawName" | "value">> = []
  const take = (index: number, before: Member | undefined): void => {
    const name = sent.get(`name_${index}`) ?? ""
    const text = before !== undefined && kindOf(before.value) === "text" ? decodeString(before.value) : undefined
    const value = valueOf(kindIn(sent.get(`type_${index}`)) ?? "text", sent.get(`value_${index}`) ?? "", text)
    if (Result.isFailure(value)) return void faults.set(index, value.failure)
    if (name === "") return void faults.set(index, "Name the field, or remove it.")
    if (systemFields.has(name)) return void faults.set(index, `${name} is set by the service. Use another name.`)
    typed.push([index, name])
    made.push({ rawName: before?.name === name ? before.rawName : print(name), value: value.success })
  }
  for (const [index, member] of stored.entries()) {
    if (sent.has(`remove_${index}`)) continue
    if (!isEditable(member) || isUntouched(member, sent, index)) {
      kept.add(member.name)
      made.push(member)
    } else take(index, member)
  }
  for (let index = stored.length; sent.has(`value_${index}`) && index < stored.length + mostFields; index++) {
    const isBlank = sent.get(`value_${index}`) === "" && sent.get(`type_${index}`) !== "null"
    // A suggested field that was left blank is not wanted.
    if (isBlank || sent.get(`name_${index}`) === "") {
      if (!isBlank) faults.set(index, "Name the field, or clear its value.")
      continue
    }
    take(index, undefined)
  }
  // A name may be that of a field further down, which only now is known to stay.
  for (const [index, name] of typed) {
    if (kept.has(name)) faults.set(index, `There is another field ${name}.`)
    kept.add(name)
  }
  return faults.size > 0 ? Result.fail(faults) : Result.succeed(objectOf(made))
}
