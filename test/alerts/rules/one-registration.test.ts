import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulateDelivery } from '../../../src/alerts/outbox/accept-all.ts';
import { silenceCovers } from '../../../src/alerts/pipeline/silence.ts';
import { findUnroutedRules } from '../../../src/alerts/pipeline/unrouted-rules.ts';
import type { UsageKind } from '../../../src/alerts/rules/kind.ts';
import type { UsageMessage } from '../../../src/alerts/rules/message.ts';
import type { Detection } from '../../../src/alerts/rules/rule.ts';
import { RULE_TABLE } from '../../../src/alerts/rules/rules.ts';
import { RULES, type RuleName } from '../../../src/core/text/alert-words.ts';
import { notifications } from '../../support/messages.ts';
import { openLedger } from '../../support/open-ledger.ts';
import { listingOf } from '../../support/run/listing.ts';
import { LOG_ROUTES, notifying, realRun, setRoutes, writerOn } from '../../support/run/real-run.ts';

const MARCH = Date.UTC(2026, 2, 10);
const DAY_MS = 86_400_000;

/** A rule that nobody has heard of: it finds who has used exactly 777 credits. */
const kind: UsageKind = {
  version: 1,
  title: 'lucky number',
  severity: 'warning',
  stake: { of: 'growth' },
  docs: { holds: { '': '`C = 777`' } },
};
const message: UsageMessage = {
  found: () => ({ title: 'has used 777 credits', figures: ['Exactly.'] }),
  ended: () => ({ figures: '778 credits', why: 'It has used more.' }),
  foundForMany: () => 'have used 777 credits',
  cost: (amount) => `They cost ${amount}.`,
};
const detection: Detection = {
  candidates: () => ({ where: 'cur.credits_used = @lucky', values: { lucky: 777 } }),
  ofTenant: (_, { current }) => ({
    judgement:
      current?.credits === 777n
        ? {
            verdict: 'holds',
            finding: {
              ...{ level: 'happened', severity: 'warning', threshold: 777n },
              ...{ magnitude: null, isBitMask: false, confirmAfterMs: null },
            },
          }
        : { verdict: 'clear', atOnce: true },
  }),
};

const name = 'toy' as RuleName;

beforeAll(() => {
  (RULES as unknown as string[]).push(name);
  Object.assign(RULE_TABLE, { toy: { type: 'usage', kind, detection, message } });
});

afterAll(() => {
  (RULES as unknown as string[]).pop();
  Reflect.deleteProperty(RULE_TABLE, name);
});

test('one registration of a rule is enough to find, notify, list, mute, route and end its alerts', async () => {
  const { connection } = openLedger();
  setRoutes(connection, LOG_ROUTES);
  const writer = writerOn(connection);
  let nowMs = MARCH;
  const run = async (credits: bigint) => {
    nowMs += DAY_MS;
    const records = [
      { tenantId: 'acme', period: '2026-01', credits: 700n, requests: 1 },
      { tenantId: 'acme', period: '2026-02', credits: 700n, requests: 1 },
      { tenantId: 'acme', period: '2026-03', credits, requests: 1 },
    ];
    const source = listingOf('ws-1', records);
    const outcome = await realRun({ writer, source, now: () => nowMs, workspace: { id: 'ws-1' } });
    expect(outcome).toMatchObject({ status: 'applied' });
    simulateDelivery(connection, notifying(connection, nowMs));
  };
  await run(10n);
  await run(777n);
  await run(778n);

  const told = notifications(connection).map(({ payload }) => payload.summary);
  expect(told).toEqual([
    'acme (ws-1): has used 777 credits. Exactly.',
    'acme (ws-1): March lucky number closed, 778 credits. It has used more.',
  ]);
  expect(connection.prepare('SELECT rule, state FROM finance_alerts').all()).toEqual([
    { rule: 'toy', state: 'resolved' },
  ]);
  expect(findUnroutedRules([], 'ws-1').find(({ severity }) => severity === 'warning')?.rules).toContain(name);
  const plan = { kind: 'plan' as const, rule: '*', tenant: '*', period: '*', upToCredits: 900n };
  expect(silenceCovers(plan, { rule: name, tenantId: 'acme', period: '2026-03', credits: 777n })).toBe(true);
});

test('no module outside the rules and the list of their names names a rule', () => {
  const named = new RegExp(`'(${RULES.join('|')})'`);
  const found = ['src/alerts', 'src/commands/alerts', 'src/operations/alerts'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => join(folder, file))
      .filter((file) => file.endsWith('.ts') && !/^src\/alerts\/rules\//.test(file))
      .flatMap((file) =>
        readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => named.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      ),
  );
  expect(found).toEqual([]);
});
