import { documentPages } from "../../src/server/pages/docs/Documents.ts"
import { groupIds } from "../../src/server/pages/docs/OpenApi.ts"

/** The addresses of all public pages. */
export const sitePaths: ReadonlyArray<string> = [
  "/",
  "/install",
  "/how-to-use",
  "/docs",
  ...groupIds.map((id) => `/docs/${id}`),
  "/docs/tools",
  "/docs/errors",
  "/docs/configuration",
  ...documentPages.map(({ name }) => `/docs/${name}`),
  "/docs/search.json",
  "/llms.txt",
  "/llms.md",
  "/robots.txt",
  "/favicon.ico"
]
