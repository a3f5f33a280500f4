import { query } from "./Database.ts"

/** Makes the bare tables: for each account the same rows as the service's, numbered from 1 on. */
export const prepareFloor = async (
  databaseUrl: string,
  accounts: ReadonlyArray<string>,
  rows: ReadonlyArray<string>
): Promise<void> => {
  const filled = `SELECT account, place, row::jsonb
    FROM unnest($1::text[]) AS account, unnest($2::text[]) WITH ORDINALITY AS r (row, place)`
  for (const [statement, values] of [
    [
      `CREATE TABLE items (account text, id bigint GENERATED ALWAYS AS IDENTITY, data jsonb, PRIMARY KEY (account, id))`
    ],
    [`CREATE TABLE settings (account text, key text, data jsonb, PRIMARY KEY (account, key))`],
    [`CREATE TABLE lists (account text, id bigint, data jsonb, PRIMARY KEY (account, id))`],
    [`CREATE TABLE versions (account text, id bigint, data jsonb, PRIMARY KEY (account, id))`],
    [`INSERT INTO lists (account, id, data) ${filled}`, [accounts, rows]],
    [`INSERT INTO versions (account, id, data) ${filled}`, [accounts, rows]],
    [`ANALYZE`]
  ] as ReadonlyArray<[string, ReadonlyArray<unknown>?]>) {
    await query(databaseUrl, statement, values)
  }
}
