/** What a tool answered, as its client was told. */
type Result = Readonly<Record<string, unknown>>
type Results = ReadonlyArray<Result>

/** A call, with arguments from what the calls before it in its task gave. */
export interface Step {
  readonly says: string
  readonly tool: string
  readonly args: (results: Results) => Record<string, unknown>
  /** Whether the answer is as it must be. */
  readonly isDone: (result: Result) => boolean
}

/** Something that a person asks of an agent, in the fewest calls that do it. */
export interface Task {
  readonly name: string
  readonly steps: ReadonlyArray<Step>
  /** In tokens of o200k: all arguments and answers together. */
  readonly most?: number
}

export const rowsOf = (result: Result | undefined) => (result?.["rows"] ?? []) as ReadonlyArray<Record<string, unknown>>

const handbook = Array.from(
  { length: 300 },
  (_, n) => `${n + 1}. Check valve ${n + 1}, and write its pressure into the log of the day.`
).join("\n")

const categories = ["Food", "Travel", "Books"]

/** Sixty lines of somebody's spending in March. */
const expenses = Array.from({ length: 60 }, (_, n) => ({
  date: `2026-03-${String((n % 30) + 1).padStart(2, "0")}`,
  category: categories[n % 3],
  amount: n + 0.5
}))

const totalOf = (category: string) =>
  expenses.reduce((sum, expense) => sum + (expense.category === category ? expense.amount : 0), 0)

const hasTotals = ({ groups }: Result) =>
  categories.every((category) =>
    ((groups ?? []) as ReadonlyArray<{ value: string; sum: { value: number } }>).some(
      ({ sum, value }) => value === category && sum.value === totalOf(category)
    )
  )

/** The tasks that every agent does, each with rows of its own. */
export const tasksFor = (agent: string): ReadonlyArray<Task> => {
  const own = agent.replaceAll(/[^A-Za-z]/g, "")
  const [shopping, spending] = [`shopping_${own}`, `spending_${own}`]
  const [theme, book] = [{ title: `Theme of ${own}` }, { title: `Handbook of ${own}` }]
  const travel = { table: spending, filter: { category: "Travel" } }
  const items = ["milk", "tea", "bread"].map((item) => ({ item, done: false }))
  return [
    {
      name: "remember a preference",
      steps: [
        {
          says: "remember",
          tool: "remember",
          args: () => ({ ...theme, content: "Prefers dark mode, ü and “quotes” 🌱" }),
          isDone: ({ created }) => created === true
        }
      ]
    },
    {
      name: "recall it",
      steps: [
        {
          says: "recall",
          tool: "query",
          args: () => ({ table: "memories", fields: ["content"], filter: theme }),
          isDone: (result) => rowsOf(result)[0]?.["content"] === "Prefers dark mode, ü and “quotes” 🌱"
        }
      ]
    },
    {
      name: "keep a list",
      steps: [
        {
          says: "add",
          tool: "add",
          args: () => ({ table: shopping, rows: items }),
          isDone: ({ added }) => added === items.length
        },
        {
          says: "tick off",
          tool: "update_where",
          args: () => ({ table: shopping, filter: { item: "milk" }, patch: { done: true } }),
          isDone: ({ updated }) => updated === 1
        },
        {
          says: "list",
          tool: "query",
          args: () => ({ table: shopping, fields: ["item"], filter: { done: false } }),
          isDone: (result) => rowsOf(result).length === 2
        }
      ]
    },
    {
      name: "correct and take back",
      steps: [
        {
          says: "correct",
          tool: "update_where",
          args: () => ({ table: shopping, filter: { item: "tea" }, patch: { item: "green tea" } }),
          isDone: ({ updated }) => updated === 1
        },
        {
          says: "take back",
          tool: "restore",
          args: ([corrected]) => ({ change: corrected?.["change"] }),
          isDone: ({ undone }) => typeof undone === "number"
        }
      ]
    },
    {
      name: "edit one line of 300",
      most: 6000,
      steps: [
        {
          says: "save",
          tool: "remember",
          args: () => ({ ...book, type: "markdown", content: handbook }),
          isDone: ({ created }) => created === true
        },
        {
          says: "edit",
          tool: "update_where",
          args: () => ({
            table: "memories",
            filter: book,
            edits: [{ op: "replace", field: "content", old: "150. Check valve 150,", new: "150. Close valve 150," }]
          }),
          isDone: ({ updated }) => updated === 1
        }
      ]
    },
    {
      name: "import 60 rows and add them up",
      most: 2500,
      steps: [
        {
          says: "import",
          tool: "add",
          args: () => ({ table: spending, rows: expenses }),
          isDone: ({ added }) => added === expenses.length
        },
        {
          says: "totals",
          tool: "count",
          args: () => ({ table: spending, by: "category", sum: "amount" }),
          isDone: hasTotals
        }
      ]
    },
    {
      name: "delete a category",
      steps: [
        {
          says: "dry run",
          tool: "delete",
          args: () => ({ ...travel, dryRun: true }),
          isDone: ({ dry_run, matched }) => dry_run === true && matched === 20
        },
        {
          says: "delete",
          tool: "delete",
          args: () => travel,
          isDone: ({ deleted }) => deleted === 20
        }
      ]
    },
    {
      name: "find by a word",
      steps: [
        {
          says: "find",
          tool: "search",
          args: () => ({ search: `dark ${own}` }),
          isDone: ({ hits }) => (hits as ReadonlyArray<{ table: string }> | undefined)?.[0]?.table === "memories"
        }
      ]
    },
    {
      name: "forget",
      steps: [
        {
          says: "see what goes",
          tool: "delete",
          args: () => ({ table: "memories", filter: theme, forever: true, dryRun: true }),
          isDone: ({ matched }) => matched === 1
        },
        {
          says: "forget",
          tool: "delete",
          args: () => ({ table: "memories", filter: theme, forever: true }),
          isDone: ({ deleted, restorable_until }) => deleted === 1 && restorable_until === undefined
        }
      ]
    }
  ]
}

/** Forty of these at once end at forty. */
export const increment = {
  table: "counters",
  filter: { name: "visits" },
  edits: [{ op: "increment", field: "n", by: 1 }]
}
