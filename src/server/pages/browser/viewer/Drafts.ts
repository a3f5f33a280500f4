/** Text that was typed and not saved, with what it was typed over. */
export interface Draft {
  /** Of the stored row that the editor began with. */
  readonly updatedAt: string
  readonly stored: string
  readonly typed: string
}

/**
 * Keeps a draft in this tab only, over reloads and over a fresh link to the same row; it is gone with the tab. The name
 * says what is edited, never by which link, because the link's token is a secret.
 */
export class Drafts {
  readonly #name: string

  constructor(...what: ReadonlyArray<string>) {
    this.#name = "draft:" + JSON.stringify(what)
  }

  read(): Draft | undefined {
    try {
      const kept = sessionStorage.getItem(this.#name)
      return kept === null ? undefined : (JSON.parse(kept) as Draft)
    } catch {
      return undefined
    }
  }

  /** Storage may be full or forbidden; then only a reload loses the text, so this says nothing. */
  keep(draft: Draft): void {
    try {
      sessionStorage.setItem(this.#name, JSON.stringify(draft))
    } catch {}
  }

  drop(): void {
    try {
      sessionStorage.removeItem(this.#name)
    } catch {}
  }
}
