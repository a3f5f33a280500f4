import { stallNobody } from "./SearchesCases.ts"

stallNobody(["ligatures of 18 letters", "ligatures in memory", "far numbers"])
