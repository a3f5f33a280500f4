/** What agents keep, each with a row as they store it. The rows are JSON texts. */
export const kinds: ReadonlyArray<{
  readonly name: string
  readonly why: string
  readonly table: string
  readonly row: string
}> = [
  {
    name: "Preferences",
    why: "What a person likes, so that nobody has to ask twice.",
    table: "preferences",
    row: '{"person": "Ada", "topic": "coffee", "value": "black"}'
  },
  {
    name: "Tasks",
    why: "What is open, across sessions and agents.",
    table: "tasks",
    row: '{"title": "Renew the passport", "due": "2027-03-01", "done": false}'
  },
  {
    name: "Decisions",
    why: "What was settled, and the reason.",
    table: "decisions",
    row: '{"question": "Which queue?", "answer": "Postgres", "because": "one thing less to run"}'
  },
  {
    name: "Documents",
    why: "Markdown that people open, correct and save.",
    table: "memories",
    row: '{"type": "markdown", "title": "Release notes", "content": "# 2.4\\n\\n- Faster start"}'
  },
  {
    name: "Code and commands",
    why: "Text to look up. It is never run here.",
    table: "memories",
    row: '{"type": "command", "title": "Free port 3000", "shell": "bash", "content": "fuser -k 3000/tcp"}'
  },
  {
    name: "Logs",
    why: "What happened, a row for each event.",
    table: "runs",
    row: '{"job": "backup", "ok": true, "seconds": 41.7}'
  }
]
