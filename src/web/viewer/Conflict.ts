import { button, copyText, element, valueView } from "./Dom.ts"
import { choices, merged, type Choice, type Side } from "../../domain/RowMerge.ts"

export interface ConflictInput {
  readonly kind: "row" | "text"
  /** The content that both sides started from. */
  readonly base: string
  readonly mine: string
  readonly theirs: string
  /** Takes the content that was decided on; `onKeepTheirs` takes theirs and saves nothing. */
  readonly onDecided: (content: string) => void
  readonly onKeepTheirs: () => void
}

const TITLE = "This row changed while you were editing."

/** Both versions side by side, and the ways to merge them. Nothing is saved until the person decides. */
export const conflictView = (input: ConflictInput): HTMLElement => {
  const { kind, mine, onDecided, onKeepTheirs } = input
  const title = element("h2", { tabindex: "-1" }, TITLE)
  const whole = element(
    "div",
    { class: "actions" },
    button(kind === "row" ? "Keep all of mine" : "Keep mine", () => onDecided(mine)),
    button(kind === "row" ? "Keep all of theirs" : "Keep theirs", onKeepTheirs),
    button("Copy mine", (pressed) => void copyText(pressed, mine))
  )
  const body = kind === "row" ? rowChoices(input) : textsBeside(input)
  return element("section", { class: "conflict", "aria-label": "Conflict" }, title, ...body, whole)
}

const fieldChoice = (choice: Choice, index: number, chosen: Map<string, Side>, onChange: () => void): HTMLElement => {
  if (choice.suggested !== undefined) chosen.set(choice.name, choice.suggested)
  const option = (side: Side, label: string, value: string | undefined) => {
    const input = element("input", { type: "radio", name: `choice-${index}`, checked: choice.suggested === side })
    input.addEventListener("change", () => {
      chosen.set(choice.name, side)
      onChange()
    })
    const only = choice.suggested === side ? " (the only change)" : ""
    return element(
      "label",
      { class: "conflict-side" },
      element("span", { class: "conflict-side-name" }, input, label + only),
      valueView(value, "This field doesn't exist.")
    )
  }
  return element(
    "fieldset",
    { class: "conflict-field" },
    element("legend", {}, choice.name),
    element(
      "div",
      { class: "conflict-sides" },
      option("theirs", "Theirs", choice.theirs),
      option("mine", "Mine", choice.mine)
    )
  )
}

const rowChoices = ({ base, mine, onDecided, theirs }: ConflictInput): ReadonlyArray<HTMLElement> => {
  const open = choices(base, mine, theirs)
  const chosen = new Map<string, Side>()
  const update = () => {
    const left = open.length - chosen.size
    save.disabled = left > 0
    rest.textContent = left === 0 ? "" : `${left} ${left === 1 ? "field" : "fields"} to choose`
  }
  const save = button("Save what I chose", () => onDecided(merged(mine, theirs, chosen).text), { class: "primary" })
  const rest = element("span", { class: "muted", role: "status" })
  const fields = open.map((choice, index) => fieldChoice(choice, index, chosen, update))
  update()
  return [
    element(
      "p",
      {},
      "Nothing is saved yet, and nothing you typed is lost. Choose for each field, or for the whole row."
    ),
    ...fields,
    element("div", { class: "actions" }, save, rest)
  ]
}

const textsBeside = ({ mine, theirs }: ConflictInput): ReadonlyArray<HTMLElement> => {
  const side = (label: string, text: string, other: string) => {
    const known = new Set(other.split(/\r\n?|\n/))
    const lines = text.split(/\r\n?|\n/).map((line) => (known.has(line) ? line : element("mark", {}, line || " ")))
    const pre = element("pre", { class: "value", tabindex: "0", role: "region", "aria-label": label })
    for (const line of lines) pre.append(line, "\n")
    return element("div", { class: "conflict-side" }, element("h3", {}, label), pre)
  }
  return [
    element("p", {}, "Nothing is saved yet, and nothing you typed is lost. Lines that differ are marked."),
    element("div", { class: "conflict-sides" }, side("Theirs", theirs, mine), side("Mine", mine, theirs))
  ]
}
