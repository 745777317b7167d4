-- What the copy in Postgres has of its own, beside tables of the ledger (src/publish/tables.ts) and the views of `views.sql`.
CREATE TABLE publish_version (version text NOT NULL);
CREATE TABLE ledgers (
  ledger_key integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ledger_id text COLLATE "C" NOT NULL UNIQUE,
  -- The last link of the chain that is here, and the last row of each table.
  position bigint NOT NULL DEFAULT 0,
  head_digest text COLLATE "C" NOT NULL DEFAULT '',
  marks jsonb,
  published_at timestamptz,
  published_by text COLLATE "C"
);
CREATE VIEW finance_ledgers AS SELECT ledger_id, position, head_digest, published_at, published_by FROM ledgers;

-- A workspace counts once, whichever ledgers have it.
CREATE UNIQUE INDEX ON workspaces (workspace_id);
CREATE INDEX ON usage_entries (period_key, tenant_key, entry_id);
CREATE INDEX ON tenant_usage (tenant_key);
CREATE INDEX ON tenants (tenant_id, workspace_key);
CREATE INDEX ON periods (period, workspace_key);
CREATE INDEX ON periods (workspace_key);
CREATE INDEX ON runs (workspace_key, run_key);
CREATE INDEX ON adjustments (booked_period_key);
CREATE INDEX ON charge_corrections (booked_period_key, tenant_key);
CREATE INDEX ON manual_lines (period_key, tenant_key);

-- What the views call of SQLite and Postgres does not have, for the formats that they use.
CREATE FUNCTION min(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT least($1, $2)';
CREATE FUNCTION strftime(format text, at text, VARIADIC modifiers text[] DEFAULT '{}') RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  moment timestamp := at::timestamp;
  modifier text;
BEGIN
  FOREACH modifier IN ARRAY modifiers LOOP moment := moment + modifier::interval; END LOOP;
  RETURN CASE format
    WHEN '%s' THEN floor(extract(epoch FROM moment))::text
    WHEN '%f' THEN to_char(moment, 'SS.MS')
    WHEN '%Y-%m' THEN to_char(moment, 'YYYY-MM')
    ELSE to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END;
END $$;
