import { groupIds } from "../docs/OpenApi.ts"

/** The addresses of all pages that are everybody's. */
export const sitePaths: ReadonlyArray<string> = [
  "/",
  "/install",
  "/how-to-use",
  "/docs",
  ...groupIds.map((id) => `/docs/${id}`),
  "/docs/tools",
  "/docs/errors",
  "/docs/configuration",
  "/docs/deployment",
  "/docs/security",
  "/docs/search.json",
  "/llms.txt",
  "/llms.md",
  "/robots.txt"
]
