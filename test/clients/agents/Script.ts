import { tasksFor, type Step } from "../Tasks.ts"

/** What a model does that carries out the tasks one after another, each call with what its own task's calls gave. */
export const stepsFor = (agent: string): ReadonlyArray<Step> => {
  let before = 0
  return tasksFor(agent).flatMap(({ steps }) => {
    const from = before
    before += steps.length
    return steps.map((step) => ({
      ...step,
      args: (results: Parameters<Step["args"]>[0]) => step.args(results.slice(from))
    }))
  })
}
