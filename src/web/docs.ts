interface Entry {
  readonly title: string
  readonly note: string
  readonly path: string
  readonly text: string
}

const place = document.querySelector<HTMLElement>("#search")
const field = document.querySelector<HTMLInputElement>("#search-text")
const list = document.querySelector<HTMLElement>("#search-results")

const resultOf = ({ note, path, title }: Entry): HTMLElement => {
  const item = document.createElement("li")
  const link = document.createElement("a")
  link.href = path
  const small = document.createElement("small")
  small.textContent = note
  link.append(title, small)
  item.append(link)
  return item
}

let index: Promise<ReadonlyArray<Entry>> | undefined
const entries = (): Promise<ReadonlyArray<Entry>> =>
  (index ??= fetch("/docs/search.json").then(async (answer) => (await answer.json()) as ReadonlyArray<Entry>))

const search = async (): Promise<void> => {
  if (field === null || list === null) return
  const words = field.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  const all = words.length === 0 ? [] : await entries()
  const names = (entry: Entry): boolean =>
    words.every((word) => `${entry.title} ${entry.note}`.toLowerCase().includes(word))
  // What is called so comes before what only speaks of it.
  const found = all
    .filter(({ text }) => words.every((word) => text.includes(word)))
    .toSorted((a, b) => Number(names(b)) - Number(names(a)))
    .slice(0, 8)
  const nothing = document.createElement("li")
  nothing.textContent = "Nothing found."
  list.replaceChildren(...(words.length > 0 && found.length === 0 ? [nothing] : found.map(resultOf)))
}

if (place !== null && field !== null) {
  place.hidden = false
  field.addEventListener("input", () => void search())
}

// A link to an error or an operation shows what it is about.
const openTarget = (): void => {
  const target = location.hash === "" ? null : document.getElementById(location.hash.slice(1))
  for (const details of target?.querySelectorAll("details") ?? []) details.open = true
}
addEventListener("hashchange", openTarget)
openTarget()
