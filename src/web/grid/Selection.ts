import { element } from "../Dom.ts"

/** Selects all rows by one box, and says how many are selected. */
export const selectingRows = (form: HTMLFormElement): void => {
  const boxes = [...form.querySelectorAll<HTMLInputElement>('tbody input[name="id"]')]
  const count = element("span", { class: "muted", role: "status" })
  const all = element("input", { type: "checkbox", "aria-label": "Select all rows of this page" })
  const show = () => {
    const selected = boxes.filter((box) => box.checked).length
    count.textContent = selected === 0 ? "" : `${selected} selected`
    all.checked = selected === boxes.length
    all.indeterminate = selected > 0 && selected < boxes.length
  }
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked
    show()
  })
  form.addEventListener("change", show)
  form.querySelector("thead .pick")?.append(element("label", {}, all))
  form.querySelector(".selection")?.append(count)
  show()
}
