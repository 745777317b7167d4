import { simulateDelivery } from '../../../src/alerts/outbox/accept-all.ts';
import { toRoutes } from '../../../src/alerts/pipeline/route.ts';
import { addPeriods, elapsedFraction, periodAt, periodStartMs } from '../../../src/core/period.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { type Fixture, startFixture, WORKSPACE } from '../../support/sandbox-fixture.ts';
import { creditsAt, type PlantedTenant, plantTenants } from './plant.ts';

const RUN_EVERY_MS = 12 * 3_600_000;
const FIRST_DAY = Date.UTC(2026, 0, 20);
const LAST_DAY = Date.UTC(2026, 4, 10);
const BULGE = '2026-04';

/** Rises, spikes, falls, newcomers and corrections in February, and ordinary tenants beside them. */
const TENANTS: readonly PlantedTenant[] = plantTenants(['2026-02'], 2, 24);

/** What people and the service do beside counting, by the time after which it is done; each once. */
type Deed = (fixture: Fixture) => Promise<unknown> | unknown;

const DEEDS: readonly [at: string, deed: Deed][] = [
  ['2026-03-10T12:00Z', (fixture) => close(fixture, '2026-02')],
  ['2026-03-12T00:00Z', ({ upstream }) => put(upstream, 'tenant-0', '2026-02', 15_000)],
  ['2026-03-14T00:00Z', ({ upstream }) => put(upstream, 'tenant-1', '2026-02', 16_000)],
  ['2026-03-16T00:00Z', ({ upstream }) => upstream.remove('tenant-2', '2026-03')],
  ['2026-03-20T00:00Z', ({ upstream }) => put(upstream, 'tenant-0', '2026-02', 20_000)],
  ['2026-03-22T00:00Z', (fixture) => reopen(fixture, '2026-02')],
  // Nothing is open then: what changes in March is booked in an April that no listing has shown yet.
  ['2026-03-31T12:00Z', (fixture) => close(fixture, '2026-03')],
  ['2026-04-08T00:00Z', ({ upstream }) => put(upstream, 'tenant-3', '2026-03', 90_000)],
];

/**
 * Sixteen weeks of two runs a day in a ledger of its own: every rule about usage fires in them, periods are closed,
 * restated and reopened, a record is withdrawn and comes back, and another workspace writes in between.
 */
export async function recordHistory(settings: Parameters<typeof startFixture>[0] = {}): Promise<Fixture> {
  const fixture = await startFixture({
    channels: [{ type: 'log', name: 'backtest' }],
    workspaces: [{}, {}],
    ...settings,
    settings: { lookbackPeriods: 1, consistency: 'counted', ...settings.settings },
  });
  const { upstream, clock, sync, sandbox } = fixture;
  const deeds = [...DEEDS];
  const changed = new Set<string>();
  const setMonth = (month: string, f: number): void => {
    for (const [index, tenant] of TENANTS.entries()) {
      const credits = creditsAt(tenant, index, month, f, BULGE);
      const withdrawn = tenant.id === 'tenant-2' && month === '2026-03' && changed.has('withdrawn');
      if (credits !== null && !withdrawn) put(upstream, tenant.id, month, credits);
    }
  };
  for (const month of ['2025-10', '2025-11', '2025-12']) setMonth(month, 1);
  // What the first run finds is recorded and told to nobody.
  put(upstream, 'tenant-4', '2025-12', 90_000);
  for (let nowMs = FIRST_DAY; nowMs <= LAST_DAY; nowMs += RUN_EVERY_MS) {
    clock.set(nowMs);
    const month = periodAt(nowMs);
    const f = elapsedFraction(month, nowMs);
    if (nowMs === periodStartMs(month)) setMonth(addPeriods(month, -1), 1);
    setMonth(month, f);
    if (nowMs === Date.UTC(2026, 2, 16)) changed.add('withdrawn');
    if (nowMs === Date.UTC(2026, 2, 19)) changed.delete('withdrawn');
    while (deeds[0] !== undefined && Date.parse(deeds[0][0]) <= nowMs) await deeds.shift()?.[1](fixture);
    if (nowMs % (7 * 86_400_000) === 0) {
      put(sandbox.workspace('ws-2'), 'other', month, Math.round(1_000 * f) + (month === '2026-03' ? 9_000 : 0));
      await sync({ workspaceId: 'ws-2' });
    }
    await sync();
    const ledger = openForWriting(fixture.config.ledger.path);
    simulateDelivery(ledger, { routes: toRoutes(fixture.config.alerts.channels), nowMs });
    ledger.close();
  }
  return fixture;
}

function put(upstream: Fixture['upstream'], tenantId: string, period: string, credits: number): void {
  upstream.set({ tenantId, period, credits, requests: Math.floor(credits / 10) });
}

async function close({ context }: Fixture, period: string): Promise<void> {
  const writer = await context.writer();
  await writer.closePeriod({
    ...{ workspaceId: WORKSPACE, period, by: 'Ada', note: '', force: true },
    ...{ settleHours: 48, nowMs: context.clock.now() },
  });
}

async function reopen({ context }: Fixture, period: string): Promise<void> {
  const writer = await context.writer();
  await writer.reopenPeriod({
    ...{ workspaceId: WORKSPACE, period, by: 'Ada', note: 'x', nowMs: context.clock.now() },
  });
}
