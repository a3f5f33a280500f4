import type { Server } from "./Database.ts"
import type { LoadGenerator } from "./Load.ts"
import type { Effort, Outcome } from "./Measure.ts"

/** What every row of the table works with. */
export interface Bench {
  readonly server: Server
  readonly load: LoadGenerator
  /** The built service. */
  readonly serviceFile: string
  /** The folder with the peers, or why they could not be installed. */
  readonly peers: { readonly folder: string } | { readonly fault: string }
  readonly effort: Effort
  /** A run that only shows that everything runs: less data is made. */
  readonly isShort: boolean
  readonly tell: (text: string) => void
}

/** One row of the table: a work, and what each variant came to. */
export interface Row {
  /** What a target knows it by. */
  readonly name?: string
  readonly work: string
  readonly outcomes: ReadonlyArray<Outcome>
  /** What is missing here, and figures that are not those of a load. */
  readonly notes: ReadonlyArray<string>
}

export const connections = 32

/** What a row says that is measured without peers. */
export const withoutPeers = (fault: string): string =>
  `No package registry answers (${fault}), so that no peers are installed.`
