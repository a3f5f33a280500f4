import { button, element } from "../Dom.ts"

/** The fields of a form as they were typed, without the proof of the session. */
export type Draft = ReadonlyArray<readonly [name: string, value: string]>

const prefix = "draft:"

/** What a form has now, but for files. */
export const draftOf = (form: HTMLFormElement): Draft =>
  [...new FormData(form)].flatMap(([name, value]) => (name === "proof" || value instanceof File ? [] : [[name, value]]))

/** Keeps what was typed into a form in this tab only, over reloads; it is gone with the tab. */
export const keepDraft = (name: string, draft: Draft): void => {
  // Storage may be full or forbidden; then only a reload loses the text.
  try {
    sessionStorage.setItem(prefix + name, JSON.stringify(draft))
  } catch {}
}

export const readDraft = (name: string): Draft | undefined => {
  try {
    const kept = sessionStorage.getItem(prefix + name)
    return kept === null ? undefined : (JSON.parse(kept) as Draft)
  } catch {
    return undefined
  }
}

/** Drops the drafts whose names begin so. */
export const dropDrafts = (name: string): void => {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix + name)) sessionStorage.removeItem(key)
  } catch {}
}

/** Puts a draft into a form's controls. */
export const fillIn = (form: HTMLFormElement, draft: Draft): void => {
  const values = new Map(draft)
  for (const control of form.elements) {
    if (control instanceof HTMLInputElement && /^(?:checkbox|radio)$/.test(control.type)) {
      control.checked = values.get(control.name) === control.value
    } else if (
      (control instanceof HTMLInputElement && !/^(?:file|hidden)$/.test(control.type)) ||
      control instanceof HTMLTextAreaElement ||
      control instanceof HTMLSelectElement
    ) {
      control.value = values.get(control.name) ?? control.value
    }
  }
}

const minute = 60_000
const warnBefore = 5 * minute

/** `23 min`, or `40 s` in the last minute. */
const remaining = (milliseconds: number): string => {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds > 60 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`
}

/** Says beside the time at which a link expires how long that is from now, by the service's clock. */
export const countingDown = (time: HTMLTimeElement): void => {
  const line = time.parentElement!
  const left = document.createElement("span")
  time.after(left)
  // A clock that doesn't jump when the device's clock is set.
  const offset = Date.parse(time.dataset["now"]!) - performance.now()
  const ends = Date.parse(time.dateTime)
  const tick = (): void => {
    const rest = ends - offset - performance.now()
    if (rest <= 0) {
      line.textContent =
        "This link has expired. What you typed stays here until you close the page. To save it, ask for a new link and open it in this tab."
      line.setAttribute("role", "alert")
      line.className = "warning"
      for (const download of document.querySelectorAll("main a[download]")) download.remove()
      return
    }
    left.textContent = ` (${remaining(rest)})`
    line.classList.toggle("warning", rest < warnBefore)
    setTimeout(tick, Math.min(rest, rest > minute + 1000 ? 5000 : 250))
  }
  tick()
}

const parsed = (text: string): Document => new DOMParser().parseFromString(text, "text/html")

const updatedAt = (draft: Draft): string | undefined => draft.find(([name]) => name === "updated_at")?.[1]

/**
 * Keeps what is typed into a form until it is stored: over reloads, and while the service can't be reached, the session has
 * ended or there is a limit. `show` shows a page that the service answered in the place of this one.
 */
export const sendingSafely = (form: HTMLFormElement, show: (page: Document) => void): void => {
  const name = form.dataset["draft"]!
  const told = element("div", { class: "form-told" })
  const lastActions = [...form.querySelectorAll(".actions")].at(-1)
  if (lastActions === undefined) form.append(told)
  else lastActions.before(told)
  let isChanged = false
  let isStale = false
  let isBusy = false

  const tell = (role: "alert" | "status", ...content: ReadonlyArray<Node | string>) =>
    told.replaceChildren(element("div", { class: "note", role }, ...content))

  const failed = (words: string, fields: () => FormData, ...more: ReadonlyArray<Node>) =>
    tell(
      "alert",
      `${words} What you typed stays here. `,
      ...more,
      button("Try again", () => void send(fields))
    )

  /** After another sign-in the pages have another proof. */
  const renewProof = async () => {
    const page = parsed(await (await fetch(location.href)).text())
    const proof = page.querySelector<HTMLInputElement>('main input[name="proof"]')?.value
    const control = form.elements.namedItem("proof")
    if (proof !== undefined && control instanceof HTMLInputElement) control.value = proof
    isStale = proof === undefined
  }

  const send = async (fields: () => FormData) => {
    if (isBusy) return
    isBusy = true
    told.replaceChildren()
    try {
      if (isStale) await renewProof()
      const all = fields()
      const body = form.enctype === "multipart/form-data" ? all : new URLSearchParams(all as never)
      const response = await fetch(form.action, { method: "POST", body })
      // What the form did is done, also where the page behind it can't be shown right now.
      if (response.redirected) {
        isChanged = false
        dropDrafts(name)
        return location.assign(response.url)
      }
      const page = parsed(await response.text())
      if (response.ok || response.status === 409 || page.querySelector("main form") !== null) {
        isChanged = false
        return show(page)
      }
      isStale = response.status === 401 || response.status === 403
      const words = page.querySelector("main .lead")?.textContent?.trim() ?? "That did not work."
      const signIn = element("a", { class: "button", href: "/sign-in", target: "_blank" }, "Sign in in a new tab")
      failed(words, fields, ...(response.status === 401 ? [signIn] : []))
    } catch {
      failed("The service can't be reached.", fields)
    } finally {
      isBusy = false
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault()
    const { submitter } = event
    void send(() => new FormData(form, submitter))
  })
  addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || !form.isConnected) return
    if (!isChanged && !form.contains(event.target as Node)) return
    event.preventDefault()
    form.requestSubmit()
  })
  addEventListener("beforeunload", (event) => isChanged && form.isConnected && event.preventDefault())
  // What was decided of a conflict is kept as what it was decided of.
  if (form.dataset["keeps"] === "nothing") return
  form.addEventListener("input", () => {
    isChanged = true
    // "Saved." would seem to cover what was typed since.
    const done = document.querySelector<HTMLElement>("main > .note[role=status]")
    if (done !== null) done.style.visibility = "hidden"
    keepDraft(name, draftOf(form))
  })

  const draft = readDraft(name)
  if (draft === undefined) return
  const discard = button("Discard them", () => {
    isChanged = false
    dropDrafts(name)
    location.reload()
  })
  if (updatedAt(draft) === updatedAt(draftOf(form))) {
    fillIn(form, draft)
    isChanged = true
    const folded = form.closest("details")
    if (folded !== null) folded.open = true
    return tell("status", "Your unsaved changes were recovered. ", discard)
  }
  const compare = button("Compare", () => {
    void send(() => {
      const fields = new FormData()
      for (const [field, value] of draft) fields.append(field, value)
      fields.append("proof", String(new FormData(form).get("proof")))
      return fields
    })
  })
  tell("alert", "This row changed since you edited it, and your changes are not saved. ", compare, " ", discard)
}
