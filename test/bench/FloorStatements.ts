/**
 * The bare statement of every kind of work, by the name that the service has for it: what pgbench runs, and what the bare
 * server answers from. `$1` is the account.
 */
export const statements: Readonly<Record<string, string>> = {
  add: `INSERT INTO items (account, data) VALUES ($1, $2) RETURNING id, data`,
  query: `SELECT id, data FROM lists WHERE account = $1 AND data @> $2 ORDER BY data->'n' DESC LIMIT $3`,
  count: `SELECT count(*)::integer AS count FROM lists WHERE account = $1 AND data @> $2`,
  upsert: `INSERT INTO settings (account, key, data) VALUES ($1, $2, $3)
    ON CONFLICT (account, key) DO UPDATE SET data = excluded.data RETURNING key AS id, data`,
  batch: `INSERT INTO items (account, data) SELECT $1, data FROM unnest($2::jsonb[]) AS data RETURNING id, data`,
  update_row: `UPDATE lists SET data = data || $3 WHERE account = $1 AND id = $2 RETURNING id, data`,
  restore: `UPDATE lists l SET data = v.data FROM versions v
    WHERE l.account = $1 AND l.id = $2 AND v.account = $1 AND v.id = $2 RETURNING l.id, l.data`
}
