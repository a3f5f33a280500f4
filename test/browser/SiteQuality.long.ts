import { everyPage, qualityOf } from "./SiteQuality.ts"

qualityOf("Every page of the site", everyPage)
