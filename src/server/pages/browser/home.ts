import { makeTabs } from "./Tabs.ts"
import { startTrying } from "./Try.ts"

makeTabs(document)
const place = document.querySelector<HTMLElement>("#try")
if (place !== null) startTrying(place)
