/** What a tool answered, as far as a client told its model. */
type Results = ReadonlyArray<Record<string, unknown>>

/** A call that the model makes, with arguments from what the calls before it gave. */
export interface Step {
  readonly says: string
  readonly tool: string
  readonly args: (results: Results) => Record<string, unknown>
  /** Whether the answer is as it must be. */
  readonly isDone: (result: Record<string, unknown>) => boolean
}

const content = 'Run `make deploy`.\n\nUmlaut ü, quote ", tab\t, 🌱'
const rowsOf = (result: Record<string, unknown> | undefined) =>
  (result?.["rows"] ?? []) as ReadonlyArray<Record<string, unknown>>

const idOf = (results: Results) => rowsOf(results[1])[0]?.["id"]

/** What a model does that remembers a text, finds and changes it, deletes it, and brings it back. */
export const stepsFor = (agent: string): ReadonlyArray<Step> => {
  const title = `How ${agent} deploys`
  const filter = { title }
  return [
    {
      says: "remember",
      tool: "remember",
      args: () => ({ type: "markdown", title, content, tags: ["deploy"] }),
      isDone: ({ created }) => created === true
    },
    {
      says: "query",
      tool: "query",
      args: () => ({ table: "memories", filter }),
      isDone: (result) => rowsOf(result).length === 1 && rowsOf(result)[0]?.["content"] === content
    },
    {
      says: "update",
      tool: "update_row",
      args: (results) => ({ table: "memories", id: idOf(results), patch: { notes: "checked" } }),
      isDone: ({ row }) => (row as { notes?: unknown } | undefined)?.notes === "checked"
    },
    {
      says: "dry run",
      tool: "delete",
      args: () => ({ table: "memories", filter, dryRun: true }),
      isDone: ({ dry_run, matched }) => dry_run === true && matched === 1
    },
    {
      says: "delete",
      tool: "delete",
      args: () => ({ table: "memories", filter }),
      isDone: ({ deleted }) => deleted === 1
    },
    {
      says: "versions",
      tool: "versions",
      args: (results) => ({ table: "memories", id: idOf(results) }),
      isDone: ({ versions }) => Array.isArray(versions) && versions.length === 2
    },
    {
      says: "restore",
      tool: "restore",
      args: (results) => ({
        table: "memories",
        id: idOf(results),
        version: (results[5]?.["versions"] as ReadonlyArray<{ version: number }> | undefined)?.[0]?.version
      }),
      isDone: ({ row }) => (row as { content?: unknown } | undefined)?.content === content
    },
    {
      says: "query again",
      tool: "query",
      args: () => ({ table: "memories", filter }),
      isDone: (result) => rowsOf(result)[0]?.["notes"] === "checked"
    }
  ]
}
