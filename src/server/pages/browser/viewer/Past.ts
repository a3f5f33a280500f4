import * as client from "./Client.ts"
import type { Failure } from "./Client.ts"
import { button } from "./Dom.ts"
import { explain } from "./Explain.ts"
import { openHistory } from "./History.ts"
import type { EditableLink, Version } from "./LinkData.ts"
import type { Notice } from "./Notice.ts"
import type { Subject } from "./Subject.ts"

/** What restoring needs of the page that it changes. */
export interface Present {
  readonly kind: EditableLink["kind"]
  readonly subject: Subject
  readonly notice: Notice
  readonly stored: () => string
  /** Why nothing can be restored at the moment, or undefined. */
  readonly refusal: () => string | undefined
  readonly show: (restored: EditableLink) => void
  readonly failed: (failure: Failure) => void
}

/** The versions before the stored one: looking at them, and bringing one back. */
export class Past {
  readonly #present: Present

  constructor(present: Present) {
    this.#present = present
  }

  open(): Promise<void> {
    const { kind, refusal, stored, subject } = this.#present
    return openHistory({
      kind,
      stored,
      refusal,
      explain,
      load: client.versions,
      ofVersion: subject.ofVersion,
      onRestore: (version) => void this.#restore(version, "Restored.")
    })
  }

  /** Restores the content that a change replaced, unless somebody changed it again since. */
  async undo(replaced: string): Promise<void> {
    const { notice, subject } = this.#present
    const answer = await client.versions()
    if (answer.kind !== "ok") return notice.say("danger", "Nothing was undone. " + explain(answer))
    const newest = answer.value.versions[0]
    if (newest === undefined || subject.ofVersion(newest) !== replaced) {
      return notice.say("warning", "The row changed again since then. See its History.")
    }
    await this.#restore(newest, "Undone.")
  }

  async #restore(version: Version, said: string): Promise<void> {
    const { failed, notice, refusal, show, stored } = this.#present
    const why = refusal()
    if (why !== undefined) return notice.say("warning", why)
    const replaced = stored()
    const answer = await client.restore(version.version)
    if (answer.kind !== "ok") return failed(answer)
    show(answer.value)
    notice.say(
      "good",
      said,
      button("Undo", () => void this.undo(replaced))
    )
  }
}
