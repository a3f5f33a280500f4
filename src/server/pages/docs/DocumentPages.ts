import { documents } from "../Assets.ts"
import { docsPage } from "./DocsPage.ts"

/** A document of the repository as a page: `deployment.md` beside this file or `.github/SECURITY.md`. */
const documentPage = (name: "deployment" | "security", title: string, description: string): string =>
  docsPage({
    current: `/docs/${name}`,
    title,
    description,
    body: `<div class="document">${documents()[name].html}</div>`
  })

/** How to run the service for others: proxy, systemd, instances, backup, upgrade, growth. */
export const deploymentPage = (): string =>
  documentPage(
    "deployment",
    "Deployment",
    "How to run Agent Memory for others: proxy, systemd, backup, upgrade, growth."
  )

/** Who holds which secret, what it opens, what an attacker gets, and how to report a fault. */
export const securityPage = (): string =>
  documentPage(
    "security",
    "Security",
    "Who holds which secret of Agent Memory, what it opens, and how to report a fault."
  )

/** What the reference's search finds in the documents. */
export const documentEntries = () =>
  (["deployment", "security"] as const).flatMap((name) =>
    documents()[name].sections.map(({ id, text, title }) => ({
      title,
      note: name === "security" ? "Security" : "Deployment",
      path: `/docs/${name}#${id}`,
      text: `${title} ${name} ${text}`.toLowerCase()
    }))
  )
