import { onTestFinished } from 'vitest';
import type { Budget } from '../../../src/config/types.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { createReportMaker } from '../../../src/daemon/http/reports/report-maker.ts';
import { startHttp } from '../../../src/daemon/http/server.ts';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { headOfChain } from '../../../src/ledger/journal/runs/digest.ts';
import { Context } from '../../../src/wiring/context.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { plainConfig, workspaceConfig } from '../../support/run/workspace-config.ts';
import { NOON, testClock } from '../../support/time/test-clock.ts';
import { PAGES } from './measured.ts';

export const HOSTILE = `</title><script>alert(1)</script>&tenant=x#"'\u202e`;
const CARD = { name: 'standard', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };

const BUDGETS: Budget[] = [
  { tenant: null, credits: 10_000n, at: [100] },
  { tenant: 'ac*', credits: 400n, at: [100] },
];

const TOKEN = 'a-token-of-this-test-that-is-long';

/** The pages of a ledger with two months of these tenants, served with a token. */
export async function serve(tenants: readonly string[] = ['acme', HOSTILE], workspaces = ['ws-1']) {
  const { path: ledgerPath, connection } = openLedger();
  setCards(connection, { cards: [CARD], source: 'import', nowMs: Date.UTC(2026, 0, 1) });
  const months = ['2026-02', '2026-03'];
  const records = months.flatMap((period, at) =>
    tenants.map((tenant, index) => usageRecord(tenant, 100 * (at + 1) * (index + 2), period)),
  );
  await publish(connection, records);
  const clock = testClock(NOON + 60_000);
  const configured = workspaces.map((id) => {
    const own = workspaceConfig('http://127.0.0.1', { id, name: `Name of ${id}` });
    return { ...own, alerts: { ...own.alerts, budgets: BUDGETS } };
  });
  const logger = createLogger({ level: 'silent' });
  const config = { ...plainConfig(ledgerPath), workspaces: configured };
  const context = new Context(config, { clock, logger, openWriter: openInProcessWriter });
  const probe = { redisUp: () => true, onRun: () => undefined, publishing: () => null } as never;
  const server = await startHttp({
    ...{ host: '127.0.0.1', port: 0, version: '1.2.3', queues: [] },
    token: () => TOKEN,
    openMetrics: () => false,
    ...PAGES,
    ...{ probe, logger },
    reports: createReportMaker({ ledgerPath, head: () => headOfChain(connection).digest }),
    console: { context, publicUrl: () => null },
  });
  onTestFinished(async () => {
    await server.close();
    await context.close();
  });
  const get = async (path: string, authorization = `Bearer ${TOKEN}`, method = 'GET') => {
    const answer = await fetch(`${server.url}${path}`, { headers: { authorization }, method });
    return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() };
  };
  return { connection, clock, get };
}
