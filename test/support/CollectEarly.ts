import { setFlagsFromString } from "node:v8"

// Loaded into a process by `--import`. An engine leaves garbage where it is as long as there is room for it; here it collects
// once the heap has grown by a tenth, so that most of what a process uses is what it holds.
setFlagsFromString("--heap-growing-percent=10")
