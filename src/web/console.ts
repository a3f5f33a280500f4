/** Shows the page's times in the reader's own time zone. */
const localTimes = (root: ParentNode): void => {
  const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" })
  for (const time of root.querySelectorAll("time")) {
    time.title = time.textContent
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

/** Warns before a page is left whose form was changed and not sent. */
const keepingTyped = (): void => {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-draft]")) {
    let isChanged = false
    form.addEventListener("input", () => (isChanged = true))
    form.addEventListener("submit", () => (isChanged = false))
    addEventListener("beforeunload", (event) => isChanged && event.preventDefault())
    form.addEventListener("keydown", (event) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      form.requestSubmit()
    })
  }
}

localTimes(document)
closingMenus()
keepingTyped()
