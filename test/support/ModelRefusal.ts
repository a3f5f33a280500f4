/** What the model refuses an operation for: the problem's code, and which operation of a batch it was. */
export class Refusal extends Error {
  readonly code: string
  readonly operation: number | undefined
  readonly matches: number | undefined
  constructor(code: string, operation?: number, matches?: number) {
    super(code)
    this.code = code
    this.operation = operation
    this.matches = matches
  }
}

/** Tells which operation of a batch was refused. */
export const at = <A>(index: number, run: () => A): A => {
  try {
    return run()
  } catch (error) {
    throw error instanceof Refusal ? new Refusal(error.code, index, error.matches) : error
  }
}
