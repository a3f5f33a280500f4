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
