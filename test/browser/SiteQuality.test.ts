import { everyPage, qualityOf } from "./SiteQuality.ts"

// Pages of a kind are made by one template. `npm run test:long` looks at all of them.
const kinds = ["/", "/docs", "/docs/errors", "/install", "/sign-in"]

qualityOf(
  "Pages of the site",
  everyPage.filter((path) => kinds.includes(path))
)
