/** A Markdown document of the repository that is a page under `/docs/`. */
interface DocumentPage {
  /** The last segment of its address. */
  readonly name: string
  /** Its path in the repository. */
  readonly file: string
  readonly title: string
  /** What it is called in the navigation, if not by its title. */
  readonly label?: string
  readonly description: string
}

const guide = (name: string, title: string, description: string, label?: string): DocumentPage => ({
  name,
  file: `src/server/pages/docs/${name}.md`,
  title,
  description,
  ...(label !== undefined && { label })
})

/** The documents that are pages, under the parts of the navigation that list them. */
export const documentParts = {
  start: [
    guide("quick-start", "Quick start", "From a clone of the repository to stored rows, in the browser and with curl."),
    guide("console", "Console", "The pages on which people see and correct what is stored, and take writes back."),
    guide("sharing", "Links for people", "Links that show a row, a text or a query to a person without a key.")
  ],
  agents: [
    guide(
      "agents",
      "Agents",
      "How an agent is connected and disconnected, what it may do, and the OAuth addresses.",
      "Guide"
    )
  ],
  programs: [
    guide(
      "client",
      "TypeScript client",
      "The TypeScript client of Agent Memory, with promises and with Effect.",
      "Client"
    ),
    guide("testing", "Testing", "How to test code that stores in Agent Memory: a complete service for each test file."),
    guide(
      "command-line",
      "Command line",
      "The command agent-memory: run and check the service, move accounts, read tables."
    )
  ],
  selfHosting: [
    guide(
      "deployment",
      "Deployment",
      "How to run Agent Memory for others: install it, put a proxy in front, upgrade it."
    ),
    guide(
      "operations",
      "Operations",
      "Logs, metrics and traces, what to do when the database fails, and what is deleted when."
    ),
    guide("backup", "Backup", "How to back up and restore the whole service, or one account."),
    guide("scaling", "Scaling", "More instances, poolers, Redis, the size of the database, and Citus."),
    {
      name: "security",
      file: ".github/SECURITY.md",
      title: "Security",
      description: "Which secrets Agent Memory has, what each one opens, and how to report a vulnerability."
    },
    {
      name: "changelog",
      file: ".github/CHANGELOG.md",
      title: "Changelog",
      description: "What changed in each version of Agent Memory."
    }
  ],
  rest: [
    guide("rules", "Rules", "What holds for every call: exact JSON, filters, sorting, pages, idempotency, errors."),
    guide(
      "limits",
      "Limits",
      "Every limit of an account, a key and a request, its default, and the setting that changes it."
    )
  ]
} as const satisfies Record<string, ReadonlyArray<DocumentPage>>

/** All documents that are pages, in the order of the navigation. */
export const documentPages: ReadonlyArray<DocumentPage> = Object.values(documentParts).flat()
