import { expect } from 'vitest';
import { verifyLedger } from '../../../src/ledger/audit/verify/verify.ts';
import { type UsageAsOf, usageAsOf } from '../../../src/ledger/journal/runs/as-of.ts';
import { headOfChain } from '../../../src/ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import { iso } from './calendar.ts';
import { reasonsOf } from './history-player.ts';
import type { WorkspaceModel } from './ledger-model.ts';
import type { Row } from './model-parts.ts';

type Sums = Row & { credits_used: bigint; request_count: bigint };

/** Holds everything that the ledger shows against the models. */
export class LedgerComparison {
  readonly #connection: LedgerDb;
  readonly #models: readonly WorkspaceModel[];
  readonly #views: ReturnType<typeof prepareViews>;
  /** What each link of a workspace left in `finance_usage`: what the ledger must still be able to say of the past. */
  readonly #past: { workspaceId: string; atMs: number; usage: string[] }[] = [];
  readonly #links = new Map<string, number>();
  /** Every key with the sum of its deltas, from `finance_history`. */
  readonly #sums = new Map<string, Sums>();
  readonly #entries = new Map<unknown, bigint>();
  #head = '';

  constructor(connection: LedgerDb, models: readonly WorkspaceModel[]) {
    this.#connection = connection;
    this.#models = models;
    this.#views = prepareViews(connection);
  }

  afterStep(where: string, nowMs: number): void {
    // The views ask SQLite for the time, which has no clock of the test's.
    const wallMs = Date.now();
    const usage = this.#views.usage();
    this.#same(`finance_usage after ${where}`, usage, (model) => model.usage(wallMs));
    for (const { workspace_id, links } of this.#views.links()) {
      const workspaceId = String(workspace_id);
      if (this.#links.get(workspaceId) === Number(links)) continue;
      this.#links.set(workspaceId, Number(links));
      const own = usage.filter((row) => row.workspace_id === workspace_id);
      this.#past.push({ workspaceId, atMs: nowMs, usage: linesOf(own.map(asRemembered)) });
    }
    this.#same(`finance_period_totals after ${where}`, this.#views.totals(), (model) => model.totals(wallMs));
    const changes = this.#views.changes();
    this.#same(`finance_period_changes after ${where}`, changes.map(without('change_percent')), (model) =>
      model.changes(),
    );
    for (const row of changes) if (!isPercent(row)) throw new Error(`${lineOf(row)} after ${where}`);
    this.#compareHistory(where);
    const adjustments = this.#views.adjustments();
    this.#same(
      `finance_adjustments after ${where}`,
      adjustments.map(without('entry_id')),
      (model) => model.adjustments,
    );
    for (const { entry_id, credits_delta, kind } of adjustments) {
      expect(kind === 'reopen' ? entry_id : this.#entries.get(entry_id)).toBe(kind === 'reopen' ? null : credits_delta);
    }
    const closes = this.#views.closes();
    for (const { id, events } of this.#models) {
      const own = closes.filter(({ workspace_id }) => workspace_id === id).map(asEvent);
      expectLines(`finance_closes after ${where}`, own.map(lineOf), events.map(lineOf));
    }
    this.#same(`finance_freshness after ${where}`, this.#views.freshness(), (model) => model.freshness());
    this.#same(`finance_runs after ${where}`, this.#views.runs().map(asRun), (model) => model.runRows());

    // Most of verify's time goes into what cannot have changed while the chain has not.
    const head = headOfChain(this.#connection).digest;
    if (head !== this.#head) expect(verifyLedger(this.#connection).faults, where).toEqual([]);
    this.#head = head;
  }

  /** The ledger is sound, and says of every earlier moment what it said then. */
  atTheEnd(): void {
    this.#same('finance_history', this.#views.history(0n).map(without('entry_id')), (model) => model.history);
    expect(verifyLedger(this.#connection).faults).toEqual([]);
    const times = [...new Set(this.#past.map(({ atMs }) => atMs))].sort((a, b) => a - b);
    for (const [index, at] of times.entries()) {
      const next = times[index + 1] ?? at + 1_000;
      for (const time of new Set([at, at + Math.floor(((next - at) * (index % 7)) / 7), next - 1])) {
        const said = usageAsOf(this.#connection, iso(time)).map(withoutTime);
        const left = this.#models.flatMap(({ id }) => {
          return this.#past.findLast(({ workspaceId, atMs }) => workspaceId === id && atMs <= time)?.usage ?? [];
        });
        expectLines(`as of ${iso(time)}`, linesOf(said), left.sort());
      }
    }
  }

  /** New entries are the model's, and the sum of each key's deltas is its state. */
  #compareHistory(where: string): void {
    const news = this.#views.history(BigInt(this.#entries.size));
    const told = this.#models.flatMap(({ history }) => history);
    expect(this.#entries.size + news.length, `entries after ${where}`).toBe(told.length);
    const runIds = new Set(news.map(({ run_id }) => run_id));
    const expected = told.filter(({ run_id }) => runIds.has(run_id));
    expectLines(`finance_history after ${where}`, linesOf(news.map(without('entry_id'))), linesOf(expected));
    for (const { entry_id, workspace_id, period, tenant_id, credits_delta, requests_delta } of news) {
      this.#entries.set(entry_id, credits_delta as bigint);
      const key = JSON.stringify([workspace_id, period, tenant_id]);
      const sum = this.#sums.get(key) ?? { workspace_id, period, tenant_id, credits_used: 0n, request_count: 0n };
      sum.credits_used += credits_delta as bigint;
      sum.request_count += requests_delta as bigint;
      this.#sums.set(key, sum);
    }
    expectLines(`the state after ${where}`, linesOf(this.#views.state()), linesOf([...this.#sums.values()]));
  }

  #same(what: string, rows: readonly Row[], expected: (model: WorkspaceModel) => readonly Row[]): void {
    expectLines(what, linesOf(rows), linesOf(this.#models.flatMap(expected)));
  }
}

function prepareViews(connection: LedgerDb) {
  const all = (sql: string) => {
    const statement = connection.prepare(sql).safeIntegers();
    return (...parameters: bigint[]) => statement.all(...parameters) as Row[];
  };
  return {
    usage: all('SELECT * FROM finance_usage'),
    totals: all('SELECT * FROM finance_period_totals'),
    changes: all('SELECT * FROM finance_period_changes'),
    history: all('SELECT * FROM finance_history WHERE entry_id > ?'),
    adjustments: all('SELECT * FROM finance_adjustments'),
    closes: all('SELECT * FROM finance_closes ORDER BY event_seq'),
    freshness: all('SELECT * FROM finance_freshness'),
    runs: all('SELECT * FROM finance_runs'),
    links: all(
      `SELECT workspace_id, count(*) AS links FROM (SELECT workspace_id FROM finance_runs WHERE status = 'applied'
         UNION ALL SELECT workspace_id FROM finance_closes) GROUP BY workspace_id`,
    ),
    state: all(
      `SELECT w.workspace_id, p.period, t.tenant_id, u.credits_used, u.request_count FROM tenant_usage u
       JOIN periods p USING (period_key) JOIN workspaces w USING (workspace_key) JOIN tenants t USING (tenant_key)`,
    ),
  };
}

/** Texts are compared first: the readable comparison would take most of the time. */
function expectLines(what: string, found: string[], expected: string[]): void {
  if (found.join('\n') !== expected.join('\n')) expect(found, what).toEqual(expected);
}

/** The percentage to two places; SQLite rounds halves in its own way. */
function isPercent({ change_percent, credits_change, previous_credits }: Row): boolean {
  if (previous_credits === null || previous_credits === 0n) return change_percent === null;
  const percent = (100 * Number(credits_change)) / Math.abs(Number(previous_credits));
  return Math.abs(Number(change_percent) - percent) <= 0.005001 + Math.abs(percent) * 1e-12;
}

function asEvent({ event_seq, previous_digest, digest, system_user, overridden, ...row }: Row): Row {
  return { ...row, overridden: reasonsOf(JSON.parse(String(overridden)) as string[]) };
}

function asRun({ digest, error_message, ...row }: Row): Row {
  return { ...row, digested: digest !== null };
}

/** What `usageAsOf` has of a row of `finance_usage`; whether a period is open, the view says by the clock of SQLite. */
function asRemembered({ period_start, period_end, withdrawn, state, ...row }: Row): Row {
  return { ...row, withdrawn: withdrawn === 1n, closed: state === 'closed' };
}

function withoutTime({ period_start, period_end, state, ...row }: UsageAsOf): Row {
  return row;
}

function without(column: string): (row: Row) => Row {
  return ({ [column]: _, ...row }) => row;
}

function linesOf(rows: readonly Row[]): string[] {
  return rows.map(lineOf).sort();
}

/** Neither the order of the columns nor that of the rows counts. */
function lineOf(row: Row): string {
  const columns = Object.keys(row).sort();
  return columns.map((column) => `${column}=${row[column] === null ? 'NULL' : String(row[column])}`).join(' ');
}
