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

/** What begins so comes first, then what is called so, then what only speaks of it. */
const rankOf = ({ note, title }: Entry, words: ReadonlyArray<string>): number => {
  if (title.toLowerCase().startsWith(words.join(" "))) return 0
  const names = `${title} ${note}`.toLowerCase()
  return words.every((word) => names.includes(word)) ? 1 : 2
}

const search = async (): Promise<void> => {
  if (field === null || list === null) return
  const words = field.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  const all = words.length === 0 ? [] : await entries()
  const found = all
    .filter(({ text }) => words.every((word) => text.includes(word)))
    .map((entry) => ({ entry, rank: rankOf(entry, words) }))
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, 12)
    .map(({ entry }) => entry)
  const nothing = document.createElement("li")
  nothing.textContent = "Nothing found."
  list.replaceChildren(...(words.length > 0 && found.length === 0 ? [nothing] : found.map(resultOf)))
}

/** Enter opens the first result, and the arrow keys walk through them from the field and back to it. */
const walkResults = (place: HTMLElement, field: HTMLInputElement): void => {
  const links = () => [...place.querySelectorAll("a")]
  place.addEventListener("keydown", async (event) => {
    const { key, target } = event
    if (key === "Escape" && target !== field) return field.focus()
    if (key === "Enter" && target === field) {
      event.preventDefault()
      await search()
      links()[0]?.click()
    }
    if (key !== "ArrowDown" && key !== "ArrowUp") return
    event.preventDefault()
    const stops: ReadonlyArray<HTMLElement> = [field, ...links()]
    const at = stops.indexOf(target as HTMLElement)
    stops[Math.min(stops.length - 1, Math.max(0, at + (key === "ArrowDown" ? 1 : -1)))]?.focus()
  })
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null

if (place !== null && field !== null) {
  place.hidden = false
  field.addEventListener("input", () => void search())
  walkResults(place, field)
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    event.preventDefault()
    field.focus()
  })
}

// On phones the sections are one line, of which the page's own is in sight.
const sections = document.querySelector<HTMLElement>(".docs-nav > ul")
const current = sections?.querySelector<HTMLElement>("[aria-current]")
if (sections && current) sections.scrollLeft = current.offsetLeft - 24
// On screens they have a scrollbar of their own.
const side = document.querySelector<HTMLElement>(".docs-side")
if (side && current) {
  const below = current.getBoundingClientRect().bottom - side.getBoundingClientRect().bottom
  if (below > 0) side.scrollTop += below + 24
}

// A link to an error or an operation shows what it is about.
const openTarget = (): void => {
  const target = location.hash === "" ? null : document.getElementById(location.hash.slice(1))
  for (const details of target?.querySelectorAll("details") ?? []) details.open = true
}
addEventListener("hashchange", openTarget)
openTarget()
