import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { Api } from "../../src/api/Api.ts"
import type {
  AnyRow,
  ChangePage,
  ChangeQuery,
  Connection,
  CreatedApiKey,
  CreatedLink,
  DeletedPage,
  Forgotten,
  DeletedQuery,
  FieldIssue,
  ImportAnswer,
  Include,
  KeyPage,
  KeyQuery,
  MagicLinkSent,
  MembersByCode,
  ProblemCode,
  Query,
  QueryAnswer,
  QueryLink,
  Restore,
  RowLink,
  SearchAnswer,
  Stored,
  Summarize,
  Summary,
  Table,
  TextFieldLink,
  UndoAnswer,
  UpdateRow,
  UpdateWhere,
  UpdateWhereAnswer,
  Upsert,
  UpsertAnswer,
  Usage,
  Verified,
  Version
} from "../../src/client/createClient.ts"
import { operations } from "../../src/client/ContractOperations.ts"
import type { JsonText } from "../../src/domain/json/JsonText.ts"
import type * as Problems from "../../src/domain/Problem.ts"

type Groups = (typeof Api)["groups"]

type TypeOf<Schema> = Schema extends { readonly Type: infer Type } ? Type : never

/** One operation of the contract, with the types of its request and its answer. */
type Described<GroupName extends string, Endpoint> = Endpoint extends {
  readonly identifier: infer Name extends string
  readonly method: infer Method
  readonly path: infer Path
  readonly "~Headers": infer Headers
  readonly "~Query": infer Query
  readonly "~Payload": infer Payload
  readonly "~Success": { readonly Type: infer Answer }
}
  ? {
      readonly name: `${GroupName}.${Name}`
      readonly method: Method
      readonly path: Path
      readonly takesKey: [Headers] extends [never] ? false : true
      readonly query: TypeOf<Query>
      readonly body: TypeOf<Payload>
      readonly answer: Answer
    }
  : never

/** Every operation of the contract. */
type ContractOperation = {
  [Group in keyof Groups]: {
    [Name in keyof Groups[Group]["endpoints"]]: Described<Group & string, Groups[Group]["endpoints"][Name]>
  }[keyof Groups[Group]["endpoints"]]
}[keyof Groups]

// An operation with such a header takes an idempotency key, or says that it refuses one.
type RepeatOf<Operation extends ContractOperation> = Operation["takesKey"] extends true
  ? "keyed" | "unknown"
  : Operation["method"] extends "GET" | "DELETE"
    ? "safe"
    : "unknown"

/** What the table of operations has to be. */
type Contract = {
  readonly [Operation in ContractOperation as Operation["name"]]: {
    readonly method: Operation["method"]
    readonly path: Operation["path"]
    readonly repeat: RepeatOf<Operation>
  }
}

/** Fails the type check where the client's table of operations is not the contract's. */
export const tabled: Contract = operations

type Row = Stored<AnyRow>

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Flat<A> = { readonly [Member in keyof A]: A[Member] } & {}

/** True for each pair of equal types. */
type Agreement<Pairs extends ReadonlyArray<readonly [unknown, unknown]>> = {
  readonly [Index in keyof Pairs]: Equal<Flat<Pairs[Index][0]>, Flat<Pairs[Index][1]>>
}

type OperationOf<Name extends ContractOperation["name"]> = Extract<ContractOperation, { readonly name: Name }>

/** A contract's type as it is on the wire: exact JSON is a row, and strings have no brands. */
type Wire<A> = A extends JsonText
  ? Row
  : A extends string
    ? A extends { readonly "~effect/Brand": unknown }
      ? string
      : A
    : A extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Wire<Item>>
      : A extends object
        ? { readonly [Member in keyof A]: Wire<A[Member]> }
        : A

type Answer<Name extends ContractOperation["name"]> = Wire<OperationOf<Name>["answer"]>

type Answers = Agreement<
  [
    [Answer<"auth.magicLink">, MagicLinkSent],
    [Answer<"auth.verify">, Verified],
    [Answer<"rows.add">, Row],
    [Answer<"rows.query">, QueryAnswer<Row>],
    [Members<Answer<"rows.count">>, Members<Summary>],
    [Omit<Answer<"rows.delete">, "restorable_until">, Pick<Forgotten, "deleted"> & Partial<Omit<Forgotten, "deleted">>],
    [Answer<"rows.upsert">, UpsertAnswer<Row>],
    [Answer<"rows.updateRow">, { readonly row: Row; readonly note?: string }],
    [Answer<"rows.updateWhere">, UpdateWhereAnswer<Row>],
    [Answer<"changes.list">, ChangePage],
    [Answer<"changes.undo">, UndoAnswer],
    [Answer<"versions.deleted">, DeletedPage],
    [Answer<"versions.list">["versions"], ReadonlyArray<Version>],
    [Answer<"versions.restore">, { readonly row: Row }],
    [Answer<"tables.list">, { readonly tables: ReadonlyArray<Table> }],
    [Answer<"tables.search">, SearchAnswer],
    [Answer<"tables.export">, { readonly tables: { readonly [table: string]: ReadonlyArray<Row> } }],
    [Answer<"tables.import">, ImportAnswer],
    [Answer<"tables.usage">, Usage],
    [Answer<"keys.list">, KeyPage],
    [Answer<"keys.create">, CreatedApiKey],
    [Answer<"keys.revoke">, { readonly revoked: number }],
    [Answer<"links.row">, CreatedLink],
    [Answer<"links.textField">, CreatedLink],
    [Answer<"links.query">, CreatedLink],
    [Answer<"connections.list">, { readonly connections: ReadonlyArray<Connection> }],
    [Answer<"connections.revoke">, { readonly revoked: number }],
    [Answer<"account.delete">, { readonly account_id: string; readonly deleted: true }]
  ]
>

/** Which members a request has, and which of them it must have. */
type Members<A> = { readonly [Member in keyof A]: true }

type Body<Name extends ContractOperation["name"]> = Members<OperationOf<Name>["body"]>

type Requests = Agreement<
  [
    [Members<OperationOf<"rows.query">["query"]>, Members<Query>],
    [
      Members<OperationOf<"rows.delete">["query"]>,
      {
        readonly filter?: true
        readonly search?: true
        readonly all?: true
        readonly forever?: true
        readonly dry_run?: true
      }
    ],
    [Members<OperationOf<"rows.count">["query"]>, Members<Summarize>],
    [Body<"rows.upsert">, Members<Upsert>],
    [Body<"rows.updateRow">, Members<UpdateRow>],
    [Body<"rows.updateWhere">, Members<UpdateWhere>],
    [Body<"versions.restore">, Members<Restore>],
    [Body<"links.row">, Members<RowLink>],
    [Body<"links.textField">, Members<TextFieldLink>],
    [Body<"links.query">, Members<QueryLink>],
    [Members<OperationOf<"keys.list">["query"]>, Members<KeyQuery>],
    [Body<"keys.create">, { readonly name: true }],
    [Body<"account.delete">, { readonly email: true }],
    [Body<"auth.magicLink">, { readonly email: true }],
    [Body<"auth.verify">, { readonly token: true }],
    [Members<OperationOf<"tables.list">["query"]>, Members<Include>],
    [Members<OperationOf<"tables.search">["query"]>, { readonly search: true }],
    [Body<"tables.import">, { readonly tables: true }],
    [Members<OperationOf<"tables.import">["query"]>, { readonly dry_run?: true }],
    [Members<OperationOf<"versions.list">["query"]>, { readonly id: true }],
    [Members<OperationOf<"changes.list">["query"]>, Members<ChangeQuery>],
    [Members<OperationOf<"changes.undo">["query"]>, { readonly dry_run?: true }],
    [Body<"changes.undo">, { readonly change: true }],
    [Members<OperationOf<"versions.deleted">["query"]>, Members<DeletedQuery>]
  ]
>

type ProblemClasses = typeof Problems
type Problem = {
  [Name in keyof ProblemClasses]: ProblemClasses[Name] extends abstract new (...args: never) => infer Instance
    ? Instance extends { readonly code: string }
      ? Instance
      : never
    : never
}[keyof ProblemClasses]

/** The members that only the problems of one code have, as the client names them. */
type OwnMembers<Code extends Problem["code"]> = Members<
  RenameRetry<Omit<Extract<Problem, { readonly code: Code }>, keyof Problems.Unavailable | "errors">>
>
type RenameRetry<A> = {
  readonly [Member in keyof A as Member extends "retry_after" ? "retryAfter" : Member]: A[Member]
}

type Failures = Agreement<
  [
    // Only /mcp has connections that may not write.
    [ProblemCode, Exclude<Problem["code"], "read_only">],
    [FieldIssue, Problems.FieldIssue],
    [
      Exclude<keyof MembersByCode, "invalid_row">,
      { [Code in ProblemCode]: keyof OwnMembers<Code> extends never ? never : Code }[ProblemCode]
    ],
    [
      { [Code in Exclude<keyof MembersByCode, "invalid_row">]: Members<MembersByCode[Code]> },
      { [Code in Exclude<keyof MembersByCode, "invalid_row">]: OwnMembers<Code> }
    ]
  ]
>

type AllTrue<Checks extends ReadonlyArray<true>> = Checks

/** Fails the type check where a type of the client is not the contract's. */
export type Agreed = AllTrue<[...Answers, ...Requests, ...Failures]>

interface Documented {
  readonly parameters?: ReadonlyArray<{ readonly name: string }>
}

describe("The client's table of operations", () => {
  const { paths } = OpenApi.fromApi(Api) as unknown as {
    readonly paths: Record<string, Record<string, Documented>>
  }

  it("has the operations of the OpenAPI document and no others", () => {
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
    )
    const known = Object.values(operations).map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`)
    assert.deepStrictEqual(known.toSorted(), documented.toSorted())
  })

  it("gives a key to each write that takes one, and to no other", () => {
    for (const [name, { method, path, repeat }] of Object.entries(operations)) {
      const documented = paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]
      const header = documented?.parameters?.find((parameter) => parameter.name === "idempotency-key")
      const takesKey = header !== undefined && !JSON.stringify(header).includes("Refused")
      assert.strictEqual(repeat === "keyed", takesKey, name)
    }
  })
})
