import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { RateCardText } from '../../../../src/billing/rates/rate-card-schema.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { publish, usageRecord } from '../../../support/open-ledger.ts';
import { Random } from '../../../support/random.ts';
import { writerOn } from '../../../support/run/real-run.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { exported, faultsOf, freshLedger } from './moving-world.ts';

const LEDGERS = Number(process.env.MOVE_LEDGERS ?? 6);
const SEED = Number(process.env.MOVE_SEED ?? Date.now() % 0x7fff_ffff);
const DAY_MS = 86_400_000;
const PERIODS = ['2026-01', '2026-02', '2026-03'];
/** Stands in everything that others are called and have said; their figures are beyond these. */
const OTHERS = 'geheim';
const OTHERS_LEAST = 3_000_000_000;

/** Its last part may happen to have digits only. */
const UUID = /\b\w{8}(-\w{4}){3}-\w{12}\b/g;

interface Side {
  workspaceId: string;
  /** Begins the name of each of its tenants, and all that is said of it. */
  word: string;
  least: number;
}
const OWN: Side = { workspaceId: 'ws-1', word: 'own', least: 1000 };
const OTHER: Side = { workspaceId: `ws-${OTHERS}`, word: OTHERS, least: OTHERS_LEAST };

function cardsFor(random: Random): RateCardText[] {
  const card = { from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
  return [
    { ...card, name: 'all', price_per_credit: `0.0${random.between(1, 9)}` },
    { ...card, name: `for ${OTHERS}`, workspace: OTHER.workspaceId },
    { ...card, name: `deal of ${OTHERS}`, tenant: `${OTHERS}-1` },
    { ...card, name: 'own deal', tenant: 'own-1' },
    { ...card, name: 'own steps', tenant: 'own-*', workspace: OWN.workspaceId, priority: 2 },
  ];
}

/** Two workspaces of which everything happens that leaves rows: runs, closes, corrections, alerts, mutes, names, prices. */
async function playBoth(connection: LedgerConnection, random: Random): Promise<number> {
  const writer = writerOn(connection);
  let nowMs = Date.UTC(2026, 2, 20, 12);
  const listed = new Map<string, Map<string, number>>([OWN, OTHER].map(({ workspaceId }) => [workspaceId, new Map()]));
  for (let step = 0; step < 24; step += 1) {
    nowMs += random.between(1, 12) * 3_600_000;
    const { workspaceId, word, least } = random.pick([OWN, OTHER]);
    const by = `${word} Ada`;
    const figures = listed.get(workspaceId) ?? new Map<string, number>();
    const tenant = `${word}-${random.between(1, 6)}`;
    const period = random.pick(PERIODS);
    const doings: (() => unknown)[] = [
      () => writer.call('setCards', { cards: cardsFor(random), source: 'import', nowMs }),
      () =>
        writer.call('importNames', {
          ...{ workspaceId, dryRun: false, nowMs },
          names: [{ tenantId: tenant, displayName: `${word} name`, externalRef: word, labels: { of: word } }],
        }),
      () => {
        const about = random.pick([null, workspaceId]);
        const untilMs = nowMs + 9 * DAY_MS;
        const mute = { kind: 'silence' as const, rule: '*', tenant, period: '*', upToCredits: null };
        return writer.call('addSilence', { ...mute, workspaceId: about, untilMs, reason: word, by, nowMs });
      },
      () =>
        writer.call('closePeriod', {
          ...{ workspaceId, period, by, note: `${word} note`, force: true, settleHours: 0, nowMs },
        }),
      () => {
        const news = { job: 'replica' as const, detail: `${OTHERS} counts twice` };
        return writer.call('tellOfJob', { ...news, nowMs });
      },
      () => writer.call('reopenPeriod', { workspaceId, period, by, note: word, nowMs }),
      () => {
        const alert = connection
          .prepare('SELECT alert_id FROM alerts JOIN workspaces USING (workspace_key) WHERE workspace_id = ? LIMIT 1')
          .pluck()
          .get(workspaceId);
        const alertId = String(alert ?? '');
        return writer.call('recordFeedback', { alertId, label: 'real', note: `${word} note`, by, nowMs });
      },
    ];
    for (let changes = 0; changes < 3; changes += 1) {
      figures.set(
        `${word}-${random.between(1, 6)}:${random.pick(PERIODS)}`,
        least * random.between(1, 9) + random.below(997),
      );
    }
    listed.set(workspaceId, figures);
    const records = [...figures].map(([key, credits]) => {
      const [tenantId = '', month = ''] = key.split(':');
      return { ...usageRecord(tenantId, credits, month), requests: least + random.below(99_991) };
    });
    await publish(connection, records, { workspaceId, nowMs });
    nowMs += 60_000;
    // Such as a month that is closed already, or an alert that is not there.
    await Promise.resolve()
      .then(random.pick(doings))
      .catch(() => undefined);
  }
  return nowMs + 60_000;
}

/** Every value of every table. */
function* valuesIn(connection: LedgerConnection): Generator<[table: string, value: unknown]> {
  const tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  for (const table of tables) {
    const rows = connection.prepare(`SELECT * FROM "${table}"`).safeIntegers().raw().all() as unknown[][];
    for (const value of rows.flat()) yield [table, value];
  }
}

test('the file of an export has nothing of other workspaces: no name, no word, no figure, on no page', {
  timeout: Math.max(120_000, LEDGERS * 20_000),
}, async () => {
  const folder = temporaryFolder();
  let searched = 0;
  for (let seed = SEED; seed < SEED + LEDGERS; seed += 1) {
    const connection = freshLedger();
    const nowMs = await playBoth(connection, new Random(seed));
    const both = connection.serialize().toString('latin1');
    if (
      connection
        .prepare('SELECT 1 FROM runs JOIN workspaces USING (workspace_key) WHERE workspace_id = ?')
        .get('ws-1') === undefined
    )
      continue;
    const file = await exported(connection, folder, nowMs);
    const bytes = readFileSync(file).toString('latin1');
    const where = `MOVE_SEED=${seed}`;
    expect(both.toLowerCase().includes(OTHERS), where).toBe(true);
    expect(bytes.toLowerCase().includes(OTHERS), where).toBe(false);
    const moved = new Database(file, { readonly: true });
    const found = [...valuesIn(moved)].filter(([, value]) =>
      typeof value === 'bigint'
        ? value >= BigInt(OTHERS_LEAST) && value < 10n ** 12n
        : /\b[3-9]\d{9,11}\b/.test(String(value).replaceAll(UUID, '')),
    );
    expect(
      found.filter(([table]) => table !== 'schema_migrations'),
      where,
    ).toEqual([]);
    expect(moved.prepare('SELECT count(*) FROM workspaces').pluck().get()).toBe(1);
    expect(faultsOf(moved), where).toEqual([]);
    searched += Number(moved.prepare('SELECT count(*) FROM usage_entries').pluck().get());
    moved.close();
    connection.close();
  }
  expect(searched, `MOVE_SEED=${SEED}`).toBeGreaterThan(LEDGERS);
});
