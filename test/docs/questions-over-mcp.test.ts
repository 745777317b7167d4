import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { serveApi } from '../daemon/api/served-api.ts';
import { type Assistant, connectOverHttp, connectOverStdio } from '../daemon/mcp/mcp-client.ts';
import type { OpenLedger } from '../support/open-ledger.ts';
import { buildDemoLedger, buildUglyLedger } from './question-ledgers.ts';

const QUESTION = /^### (.+)\n\n```sql\n([\s\S]*?)```/gm;
const TEXT = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
const QUESTIONS = [...TEXT.matchAll(QUESTION)].map(([, question = '', sql = '']) => ({ question, sql }));
const NOW = Date.UTC(2025, 3, 28, 12);
/** Few rows, so that most listings need their cursor. */
const ROWS_PER_CALL = 4;

// biome-ignore lint/suspicious/noExplicitAny: each question names the columns that it reads
type Row = Record<string, any>;
type Ask = (tool: string, fields?: Record<string, unknown>) => Promise<Row[]>;

/** How an assistant finds the answer to each question: it calls tools, follows cursors and adds up. */
const ANSWERS: Readonly<Record<string, (ask: Ask, call: Assistant['call']) => Promise<unknown[][]>>> = {
  async 'Usage by tenant'(ask) {
    const rows = await ask('usage_list', { period: '2025-04' });
    return rows
      .filter(({ withdrawn }) => !withdrawn)
      .map((row) => [row.workspace_id, row.tenant_id, row.credits_used, row.request_count, row.state]);
  },
  async 'Totals by month'(ask) {
    const rows = await ask('periods_list');
    return rows.map((row) => [
      ...[row.workspace_id, row.period, row.tenants, row.credits_used, row.state],
      ...[Number(row.complete), row.as_of.slice(0, 10)],
    ]);
  },
  async 'Biggest changes'(ask) {
    const rows = await ask('changes_list', { period: '2025-04' });
    const bySize = rows.toSorted((a, b) => Math.abs(b.credits_change) - Math.abs(a.credits_change));
    return bySize
      .slice(0, 3)
      .map((row) => [
        ...[row.workspace_id, row.tenant_id, row.previous_credits, row.credits_used],
        ...[row.credits_change, row.change_percent],
      ]);
  },
  async 'New tenants'(ask) {
    const rows = (await ask('usage_list', { to: '2025-03' })).filter(({ withdrawn }) => !withdrawn);
    const keyOf = (row: Row) => `${row.workspace_id} ${row.tenant_id}`;
    const before = new Set(rows.filter(({ period }) => period < '2025-03').map(keyOf));
    return rows
      .filter((row) => row.period === '2025-03' && !before.has(keyOf(row)))
      .map((row) => [row.workspace_id, row.tenant_id, row.credits_used]);
  },
  async 'Stopped tenants'(ask) {
    const totals = await ask('periods_list', { period: '2025-03' });
    const complete = totals.filter((row) => row.complete).map(({ workspace_id }) => workspace_id);
    const rows = await ask('changes_list', { period: '2025-03' });
    return rows
      .filter((row) => complete.includes(row.workspace_id) && row.previous_credits > 0 && row.credits_used === 0)
      .map((row) => [row.workspace_id, row.tenant_id, row.previous_credits]);
  },
  async 'Usage in a quarter'(ask) {
    const months = { from: '2025-01', to: '2025-03' };
    const sums = new Map<string, [string, string, number, number]>();
    const sumOf = ({ workspace_id, tenant_id }: Row) => {
      const key = `${workspace_id} ${tenant_id}`;
      const sum = sums.get(key) ?? [workspace_id, tenant_id, 0, 0];
      sums.set(key, sum);
      return sum;
    };
    for (const row of await ask('usage_list', months)) sumOf(row)[2] += row.credits_used;
    for (const row of await ask('corrections_list', months)) sumOf(row)[3] += row.credits_delta;
    return [...sums.values()].map((sum) => [...sum, sum[2] + sum[3]]);
  },
  async 'Amounts by customer'(ask) {
    const rows = await ask('charges_list', { from: '2025-01', to: '2025-03' });
    const customerOf = (row: Row) => row.external_ref ?? `${row.workspace_id} ${row.tenant_id}`;
    return [...Map.groupBy(rows, (row) => `${customerOf(row)}|${row.currency}`).values()].map((group) => [
      ...[customerOf(group[0] ?? {}), group[0]?.currency],
      ...[group.reduce((sum, row) => sum + row.credits_used, 0), amountOf(group)],
    ]);
  },
  async 'Revenue by month'(ask) {
    const rows = await ask('charges_list');
    return [...Map.groupBy(rows, ({ period, currency }) => `${period} ${currency}`).values()].map((group) => [
      ...[group[0]?.period, group[0]?.currency, amountOf(group)],
    ]);
  },
  async 'Lines of a charge'(ask) {
    const rows = await ask('views_read', { view: 'charge_lines', period: '2025-03', tenant: 'blue-harbor' });
    return rows.map((row) => [
      ...[row.line_number, row.kind, row.tier, row.credits, row.unit_price, row.amount, row.currency],
    ]);
  },
  async 'Missing rate cards'(ask) {
    const keyOf = (row: Row) => `${row.workspace_id} ${row.tenant_id} ${row.period}`;
    const lines = await ask('views_read', { view: 'charge_lines' });
    const priced = new Set(lines.filter(({ kind }) => kind !== 'correction').map(keyOf));
    return (await ask('usage_list'))
      .filter((row) => !row.withdrawn && !priced.has(keyOf(row)))
      .map((row) => [row.workspace_id, row.period, row.tenant_id]);
  },
  async Corrections(ask) {
    const place = { workspace: 'ws-demo', tenant: 'cedar-analytics' };
    const lines = await ask('views_read', { view: 'charge_lines', ...place });
    const history = await ask('views_read', { view: 'history', ...place });
    const learned = new Map(history.map((row) => [row.entry_id, row.recorded_at.slice(0, 10)]));
    return lines
      .filter((row) => row.kind === 'correction' && row.corrects_period === '2025-01')
      .map((row) => [
        ...[learned.get(row.entry_id) ?? null, row.credits, row.amount, row.currency, row.cause, row.period],
      ]);
  },
  async 'Closes and overridden blockers'(ask) {
    return (await ask('closes_list')).map((row) => [
      ...[row.workspace_id, row.period, row.action, row.actor, row.at.slice(0, 10), row.note],
      ...[Number(row.forced), JSON.parse(row.overridden).length],
    ]);
  },
  async 'History of a figure'(_ask, call) {
    const { json } = await call('tenants_show', {
      tenant_id: 'cedar-analytics',
      workspace: 'ws-demo',
      period: '2025-01',
    });
    const [report] = json.workspaces;
    return report.entries.map((row: Row) => [
      ...[row.recorded_at.slice(0, 10), row.kind, row.credits_delta, row.credits_after],
    ]);
  },
  async 'Usage by day'(ask) {
    const rows = await ask('views_read', { view: 'daily', workspace: 'ws-demo', period: '2025-04' });
    return [...Map.groupBy(rows, ({ day }) => day)].map(([day, group]) => [
      ...[day, group.reduce((sum, row) => sum + row.credits_increase, 0), group.length],
    ]);
  },
  async 'Invoice names and numbers'(ask) {
    const rows = await ask('charges_list', { period: '2025-04' });
    return rows.map((row) => [
      ...[row.workspace_id, row.period, row.external_ref, row.display_name ?? row.tenant_id, row.amount, row.currency],
    ]);
  },
  async 'Usage by label'(ask) {
    const names = await ask('tenants_list');
    const regions = new Map(names.map((row) => [`${row.workspace_id} ${row.tenant_id}`, row.labels.region]));
    const rows = await ask('usage_list', { period: '2025-04' });
    const regionOf = (row: Row) => regions.get(`${row.workspace_id} ${row.tenant_id}`) ?? 'none';
    return [...Map.groupBy(rows, regionOf)].map(([region, group]) => [
      ...[region, group.reduce((sum, row) => sum + row.credits_used, 0)],
    ]);
  },
  async Freshness(ask) {
    return (await ask('workspaces_list')).map((row) => [
      ...[row.workspace_id, row.last_complete_run_at, row.last_status, row.covers_from, row.covers_to],
    ]);
  },
};

/** Adds up the minor units of charges in one currency. */
function amountOf(rows: readonly Row[]): string {
  const digits = rows[0]?.currency_digits ?? 0;
  const minor = rows.reduce((sum, row) => sum + BigInt(row.amount_minor), 0n);
  return (Number(minor) / 10 ** digits).toFixed(digits);
}

/** Writes a configuration for a ledger, as its daemon would have it. */
function configure({ path }: OpenLedger): { folder: string; clock: { nowMs: number; serviceMs: number } } {
  const folder = dirname(path);
  const workspaces = ['ws-demo', 'ws-two'].map((id) => ({
    id,
    base_url: 'https://api.example.com',
    embed_url: 'https://example.com',
    api_key_id: 'ak_example',
    secret_key: 'sk_not_a_secret',
  }));
  writeFileSync(join(folder, 'usage-ledger.yml'), stringify({ ledger: { path }, workspaces }), { mode: 0o600 });
  return { folder, clock: { nowMs: NOW, serviceMs: NOW } };
}

const CONNECTIONS = {
  stdio: async (world: ReturnType<typeof configure>) => connectOverStdio(world),
  HTTP: async (world: ReturnType<typeof configure>) => connectOverHttp((await serveApi(world)).url),
};

describe.each([
  ['the demo', buildDemoLedger],
  ['an ugly ledger', buildUglyLedger],
] as const)('on %s', (_, build) => {
  it.each(['stdio', 'HTTP'] as const)(
    'every question of the document has the figures of its SQL over MCP by %s',
    async (by) => {
      const ledger = await build();
      const { call } = await CONNECTIONS[by](configure(ledger));
      const ask: Ask = async (tool, fields = {}) => {
        const rows: Row[] = [];
        let cursor: string | null = null;
        do {
          const more = cursor === null ? {} : { cursor };
          const { isError, json, text } = await call(tool, { ...fields, ...more, limit: ROWS_PER_CALL });
          expect(isError, text).toBe(false);
          rows.push(...json.rows);
          cursor = json.next_cursor;
        } while (cursor !== null);
        return rows;
      };
      expect(Object.keys(ANSWERS).toSorted()).toEqual(QUESTIONS.map(({ question }) => question).toSorted());
      const sqlite = new Database(ledger.path, { readonly: true });
      try {
        for (const { question, sql } of QUESTIONS) {
          const expected = sqlite.prepare(sql).raw().all() as unknown[][];
          const answer = (await ANSWERS[question]?.(ask, call)) ?? [];
          expect.soft(sorted(answer), question).toEqual(sorted(expected));
        }
      } finally {
        sqlite.close();
      }
    },
  );
});

/** The SQL sorts by some columns only; which of two equal rows comes first is nobody's business. */
function sorted(rows: readonly unknown[][]): unknown[][] {
  return rows.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}
