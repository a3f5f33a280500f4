/** The scope of everything that a connection may do; what it may not is the person's choice at the consent page. */
export const memoryScope = "agent-memory"

/** Scopes that clients may ask for. `offline_access` changes nothing: every client is given a refresh token. */
export const knownScopes: ReadonlyArray<string> = [memoryScope, "offline_access"]

const split = (scope: string): ReadonlyArray<string> => [...new Set(scope.split(" ").filter((name) => name !== ""))]

/** What is granted of the scopes a client asks for: the known ones, and {@link memoryScope} always. */
export const grantedScope = (asked: string | null): string => {
  const names = split(asked ?? "").filter((name) => knownScopes.includes(name))
  return [memoryScope, ...names.filter((name) => name !== memoryScope)].join(" ")
}

/** Whether a refresh asks for more than was granted. */
export const isWider = (granted: string, asked: string): boolean =>
  split(asked).some((name) => !split(granted).includes(name))
