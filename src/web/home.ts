/** Turns the sections of every `[data-tabs]` into tabs with arrow keys. Without scripts they stay sections. */
const makeTabs = (root: ParentNode): void => {
  for (const group of root.querySelectorAll<HTMLElement>("[data-tabs]")) {
    const panels = [...group.querySelectorAll<HTMLElement>(":scope > section")]
    const list = document.createElement("div")
    list.setAttribute("role", "tablist")
    list.setAttribute("aria-label", "How to connect")
    const tabs = panels.map((panel) => {
      const heading = panel.querySelector("h3")
      const tab = document.createElement("button")
      tab.type = "button"
      tab.id = `${panel.id}-tab`
      tab.textContent = heading?.textContent ?? ""
      tab.setAttribute("role", "tab")
      tab.setAttribute("aria-controls", panel.id)
      panel.setAttribute("role", "tabpanel")
      panel.setAttribute("aria-labelledby", tab.id)
      heading?.remove()
      list.append(tab)
      return tab
    })
    const show = (index: number): void => {
      for (const [i, tab] of tabs.entries()) {
        tab.setAttribute("aria-selected", String(i === index))
        tab.tabIndex = i === index ? 0 : -1
        panels[i]?.toggleAttribute("hidden", i !== index)
      }
    }
    const moves: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }
    for (const [index, tab] of tabs.entries()) {
      tab.addEventListener("click", () => show(index))
      tab.addEventListener("keydown", ({ key }) => {
        const move = moves[key]
        if (move === undefined) return
        const next = (index + move + tabs.length) % tabs.length
        show(next)
        tabs[next]?.focus()
      })
    }
    group.prepend(list)
    show(0)
  }
}

makeTabs(document)
