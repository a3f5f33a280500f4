import { button, element } from "./viewer/Dom.ts"
import { explain, load, type EditableLink } from "./viewer/LinkClient.ts"

/** Opens what the link shows; each kind's code is loaded when it is needed. */
const open = async (root: HTMLElement, data: EditableLink): Promise<void> => {
  const { Editing } = await import("./viewer/Editing.ts")
  if (data.kind === "row") {
    const { rowEditor } = await import("./viewer/RowEditor.ts")
    return new Editing(root, data, rowEditor).start()
  }
  const { textEditor } = await import("./viewer/TextEditor.ts")
  const { field, language } = data
  new Editing(root, data, (typed, onChange) => textEditor({ field, language, typed, onChange })).start()
}

const start = async (root: HTMLElement): Promise<void> => {
  const fail = (text: string) => {
    const line = element("p", {}, `${text} You can read the data below, but not edit it.`)
    root.querySelector("[data-viewer-fault]")?.remove()
    root.prepend(
      element(
        "div",
        { class: "notice", "data-tone": "danger", role: "alert", "data-viewer-fault": true },
        line,
        button("Try again", () => void start(root))
      )
    )
  }
  const loaded = await load()
  if (loaded.kind !== "ok") return fail(explain(loaded))
  try {
    root.classList.add("viewer")
    await open(root, loaded.value)
    root.dataset["ready"] = "true"
  } catch (error) {
    console.error(error)
    fail("The editor failed to load.")
  }
}

const root = document.querySelector<HTMLElement>("#viewer")
if (root !== null) void start(root)
