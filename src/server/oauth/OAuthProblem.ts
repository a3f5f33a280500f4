import { Data } from "effect"

/** A refusal of the token endpoint and its kin, in the words of RFC 6749 section 5.2. */
export class OAuthProblem extends Data.TaggedError("OAuthProblem")<{
  readonly status: 400 | 401 | 408 | 413
  readonly error:
    | "invalid_request"
    | "invalid_client"
    | "invalid_grant"
    | "invalid_scope"
    | "invalid_target"
    | "unsupported_grant_type"
  readonly description: string
}> {}

export const invalidRequest = (description: string): OAuthProblem =>
  new OAuthProblem({ status: 400, error: "invalid_request", description })

export const invalidGrant = (description: string): OAuthProblem =>
  new OAuthProblem({ status: 400, error: "invalid_grant", description })

export const invalidTarget = (): OAuthProblem =>
  new OAuthProblem({ status: 400, error: "invalid_target", description: "resource must be the address of this /mcp." })
