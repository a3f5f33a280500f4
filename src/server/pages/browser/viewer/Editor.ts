/** What a person types into. */
export interface Editor {
  readonly root: HTMLElement
  /** What stands in it, finished or not. */
  readonly typed: () => string
  /** Replaces what stands in it. */
  readonly show: (typed: string) => void
  readonly focus: () => void
  /** Takes over what is being typed into a part that is still open, such as a value of a tree. */
  readonly commit: () => void
}
