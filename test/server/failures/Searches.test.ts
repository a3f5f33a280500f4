import { stallNobody } from "./SearchesCases.ts"

stallNobody(["ligatures in memory", "far numbers"])
