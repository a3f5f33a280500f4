import type { Api } from "../api/Api.ts"

type Groups = (typeof Api)["groups"]

type TypeOf<Schema> = Schema extends { readonly Type: infer Type } ? Type : never

/** One operation of the contract, with the types of its request and its answer. */
type OperationOf<GroupName extends string, Endpoint> = Endpoint extends {
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

type OperationsOf<GroupName extends string, Group> = Group extends { readonly endpoints: infer Endpoints }
  ? Endpoints[keyof Endpoints] extends infer Endpoint
    ? Endpoint extends unknown
      ? OperationOf<GroupName, Endpoint>
      : never
    : never
  : never

/** Every operation of the contract, read off its types alone, so that nothing of it is loaded at run time. */
export type ContractOperation = {
  [GroupName in keyof Groups]: OperationsOf<GroupName & string, Groups[GroupName]>
}[keyof Groups]

// An operation with such a header takes an idempotency key, or says that it refuses one.
type RepeatOf<Operation extends ContractOperation> = Operation["takesKey"] extends true
  ? "keyed" | "unknown"
  : Operation["method"] extends "GET" | "DELETE"
    ? "safe"
    : "unknown"

/** The operations by name, as a client's table of them has to be. */
export type Contract = {
  readonly [Operation in ContractOperation as Operation["name"]]: {
    readonly method: Operation["method"]
    readonly path: Operation["path"]
    readonly repeat: RepeatOf<Operation>
  }
}
