const states = ["open", "done", "blocked", "waiting"]
const note = "What was said about it, in a sentence or two that a person could have written down. ".repeat(4)

/** The object that every variant stores, of about 500 bytes. `n` may be a placeholder of a load. */
export const item = (n: number | string, state: string): string =>
  `{"title":"Item ${n}","status":"${state}","n":${n},"price":12.5,"tags":["home","work"],"note":"${note}"}`

/** The rows of one list: a quarter of them in each state. */
export const items = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => item(index + 1, states[index % states.length]!))
