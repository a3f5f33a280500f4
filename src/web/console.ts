import { dropDrafts, countingDown, sendingSafely } from "./console/Sending.ts"

const localTimes = (root: ParentNode): void => {
  const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" })
  for (const time of root.querySelectorAll("time")) {
    time.title = time.dateTime
    time.textContent = format.format(new Date(time.dateTime))
  }
}

/** Closes a menu when something else is pressed, or Escape. */
const closingMenus = (): void => {
  const menus = () => document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")
  document.addEventListener("click", ({ target }) => {
    for (const menu of menus()) if (!menu.contains(target as Node)) menu.open = false
  })
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return
    for (const menu of menus()) {
      menu.open = false
      menu.querySelector<HTMLElement>("summary")?.focus()
    }
  })
}

/** Shows the content of another page in the place of this one's, for a form that the service answered with a page. */
const show = (page: Document): void => {
  const [now, next] = [document.querySelector("main"), page.querySelector("main")]
  if (now === null || next === null) return
  document.title = page.title
  const styles = [...page.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')]
  document.head.append(
    ...styles.filter(({ href }) => document.querySelector(`link[href="${new URL(href).pathname}"]`) === null)
  )
  now.replaceWith(next)
  start(next)
  const first = next.querySelector<HTMLElement>("[role=alert], h1")
  first?.setAttribute("tabindex", "-1")
  first?.focus()
}

const start = (root: ParentNode): void => {
  localTimes(root)
  for (const form of root.querySelectorAll<HTMLFormElement>("form[data-draft]")) sendingSafely(form, show)
  for (const area of root.querySelectorAll<HTMLTextAreaElement>("textarea[data-editor]")) {
    // Without it the text area is the editor.
    void import("./editor/TextEditor.ts").then(
      ({ editing }) => editing(area),
      () => undefined
    )
  }
  for (const time of root.querySelectorAll<HTMLTimeElement>("time[data-ends]")) countingDown(time)
  // Who signs out leaves nothing behind for who is next.
  for (const form of root.querySelectorAll<HTMLFormElement>('form[action="/sign-out"]')) {
    form.addEventListener("submit", () => dropDrafts(""))
  }
}

closingMenus()
start(document)
