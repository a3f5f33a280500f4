/** The types of the client, by what they are about. */
export type * from "./types/Rows.ts"
export type * from "./types/Reads.ts"
export type * from "./types/Writes.ts"
export type * from "./types/History.ts"
export type * from "./types/Account.ts"
