export { RawNumber } from "../domain/json/RawNumber.ts"
export type { AgentMemory, Connections, Keys, Links } from "./AccountClient.ts"
export { AgentMemoryError } from "./AgentMemoryError.ts"
export type { ClientCode, ErrorCode, ErrorMembers, FieldIssue, MembersByCode, ProblemCode } from "./AgentMemoryError.ts"
export type { Batch, BatchOperation, BatchResults } from "./Batch.ts"
export { createClient } from "./CreateClient.ts"
export type {
  CallOptions,
  ClientOptions,
  ConnectionOptions,
  Fetch,
  ImportOptions,
  Numbers,
  WriteOptions
} from "./Options.ts"
export { createSignIn } from "./SignIn.ts"
export type { MagicLinkSent, SignIn, SignInOptions, Verified } from "./SignIn.ts"
export type { Issue, StandardSchema } from "./StandardSchema.ts"
export type { TableClient } from "./TableClient.ts"
export type {
  AccountRows,
  AnyRow,
  ApiKey,
  Connection,
  CreatedApiKey,
  CreatedLink,
  Filter,
  ImportAnswer,
  KeyPage,
  KeyQuery,
  Patch,
  Query,
  QueryAnswer,
  QueryLink,
  Restore,
  RowLink,
  Scalar,
  Stored,
  SystemFields,
  Table,
  TextFieldLink,
  UpdateRow,
  UpdateWhere,
  UpdateWhereAnswer,
  Upsert,
  UpsertAnswer,
  Usage,
  UsageLimits,
  Version
} from "./Types.ts"
