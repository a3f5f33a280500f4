import { button, element } from "../Dom.ts"
import { draftOf, dropDrafts, fillIn, keepDraft, readDraft, type Draft } from "./Drafts.ts"

/** The parts of a page that has been answered to a form. */
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
