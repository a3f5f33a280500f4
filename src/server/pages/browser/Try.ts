import { makeTerminal } from "./Terminal.ts"

const find = <E extends HTMLElement>(place: HTMLElement, id: string): E => {
  const element = place.querySelector<E>(`#${id}`)
  if (element === null) throw new Error(`The page has no #${id}`)
  return element
}

const textOf = (json: unknown, name: string): string | undefined => {
  const value = typeof json === "object" && json !== null ? (json as Record<string, unknown>)[name] : undefined
  return typeof value === "string" ? value : undefined
}

/** The first steps on the front page: a key by mail, a row, a query, all by real requests. The key is kept in memory only. */
export const startTrying = (place: HTMLElement): void => {
  const ask = find<HTMLFormElement>(place, "ask")
  const use = find<HTMLFormElement>(place, "use")
  const add = find<HTMLFormElement>(place, "add")
  const edit = find<HTMLButtonElement>(place, "edit-row")
  const terminal = makeTerminal(find(place, "terminal"))
  let key: string | undefined
  let rowId: string | undefined

  const show = (form: HTMLFormElement): void => {
    for (const other of [ask, use, add]) other.hidden = other !== form
    form.querySelector<HTMLElement>("input, textarea")?.focus()
  }

  const begin = (newKey: string): void => {
    key = newKey
    terminal.say("The key is ready. Add a row: the table comes with it.")
    show(add)
  }

  /** Sends one request at a time, so that a button pressed twice stores one row. */
  const send = async (method: string, path: string, body?: string) => {
    const buttons = [...place.querySelectorAll<HTMLButtonElement>("form button:enabled")]
    for (const button of buttons) button.disabled = true
    try {
      return await terminal.send({ method, path, body, key })
    } finally {
      for (const button of buttons) button.disabled = false
    }
  }

  const signInHere = async (link: string): Promise<void> => {
    const token = new URL(link).searchParams.get("token")
    const { json } = await send("POST", "/auth/verify", JSON.stringify({ token }))
    const newKey = textOf(json, "api_key")
    if (newKey !== undefined) begin(newKey)
  }

  ask.addEventListener("submit", async (event) => {
    event.preventDefault()
    const email = find<HTMLInputElement>(ask, "email").value.trim()
    const { json, ok } = await send("POST", "/auth/magic-link", JSON.stringify({ email }))
    if (!ok) return
    const link = textOf(json, "dev_magic_link")
    if (link !== undefined) {
      terminal.say("This service shows you what it would mail, so the link is used right here.")
      return signInHere(link)
    }
    terminal.say(
      place.dataset["local"] === undefined
        ? "Sent. Open the link in the mail, copy the key it shows, and paste it above."
        : "Printed. Open the link in the service's terminal, copy the key it shows, and paste it above."
    )
    show(use)
  })

  find(ask, "have-key").addEventListener("click", () => show(use))

  use.addEventListener("submit", async (event) => {
    event.preventDefault()
    key = find<HTMLInputElement>(use, "key").value.trim()
    const { ok } = await send("GET", "/v1/_tables")
    if (ok) begin(key)
  })

  add.addEventListener("submit", async (event) => {
    event.preventDefault()
    const { json, ok } = await send("POST", "/v1/notes", find<HTMLTextAreaElement>(add, "row").value)
    if (!ok) return
    rowId = textOf(json, "id")
    edit.disabled = rowId === undefined
  })

  find(add, "query-rows").addEventListener("click", () => void send("GET", "/v1/notes?sort=-created_at&limit=3"))

  edit.addEventListener("click", async () => {
    // Browsers let a page open a tab in the click itself, and not after an answer came.
    const tab = open("about:blank")
    const { json } = await send("POST", "/v1/_row_links", JSON.stringify({ table: "notes", id: rowId }))
    const address = textOf(json, "viewer_url")
    if (address === undefined) return tab?.close()
    if (tab === null) terminal.link("Open the row in the editor", address)
    else tab.location.replace(address)
  })

  const copyKey = find<HTMLButtonElement>(add, "copy-key")
  copyKey.addEventListener("click", async () => {
    if (key === undefined) return
    try {
      await navigator.clipboard.writeText(key)
      terminal.say("The key is on the clipboard. Keep it where your programs keep secrets: it is not shown again.")
    } catch {
      terminal.say("This browser lets the page copy nothing.")
    }
  })

  place.hidden = false
}
