import { addSilence } from '../../../src/alerts/actions.ts';
import { simulateDelivery } from '../../../src/alerts/outbox/accept-all.ts';
import { countAlerts, countOpenAlerts } from '../../../src/alerts/state/open-alerts.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import type { AlertSettings } from '../../../src/config/types.ts';
import { addPeriods, type Period, periodAt, periodEndMs, periodStartMs } from '../../../src/core/period.ts';
import { commitClose } from '../../../src/ledger/journal/charges/commit-close.ts';
import { closePeriod } from '../../../src/ledger/journal/close/close-period.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import { migrateLedger } from '../../../src/ledger/store/schema/migrate.ts';
import type { Writer } from '../../../src/writer/writer.ts';
import { listingOf } from '../../support/run/listing.ts';
import { notifying, realRun, writerOn } from '../../support/run/real-run.ts';
import { DAY_MS } from './calendar.ts';
import type { ServiceRecord } from './service.ts';
import type { World } from './world.ts';

export const WORKSPACE = 'ws-year';
export const LOOKBACK = 2;
export const SETTLE_HOURS = 48;

/** The settings of the year: the defaults. */
export const YEAR_RULES: AlertSettings = { ...DEFAULT_ALERT_RULES, tenants: [] };

/** The same for the oracle, which knows no settings of the program. */
export const YEAR_ORACLE = { ratio: 1.5, minCredits: 1000, settleHours: SETTLE_HOURS };

/** What one run read. */
export interface Reading {
  atMs: number;
  from: Period;
  records: ServiceRecord[];
}

export interface Played {
  readings: Reading[];
  /** How long the runs took in all. */
  elapsedMs: number;
  /** Alerts on the list of open ones after the last run. */
  openAlerts: number;
}

/**
 * Lets the ledger at `path` go through the world: each run reads what the service says at its moment, but for the network as
 * the daemon does it, and a receiver that is always there hears of it. Months are closed on their 10th day, plans and silences are
 * entered a week before the month that they are about.
 */
export async function playWorld(world: World, path: string, rules: AlertSettings = YEAR_RULES): Promise<Played> {
  const connection = openForWriting(path);
  try {
    connection.pragma('synchronous = OFF');
    migrateLedger(connection, path, '0.0.0', world.calendar.startMs);
    const started = performance.now();
    const people = createPeople(connection, world);
    const writer = writerOn(connection);
    const readings: Reading[] = [];
    for (const atMs of world.runsMs) {
      people(atMs);
      const from = addPeriods(periodAt(atMs), -LOOKBACK);
      const reading = { atMs, from, records: listed(world, from, atMs) };
      await publishRun(writer, reading, rules);
      simulateDelivery(connection, notifying(connection, atMs));
      readings.push(reading);
    }
    const elapsedMs = performance.now() - started;
    return { readings, elapsedMs, openAlerts: countOpenAlerts(countAlerts(connection)) };
  } finally {
    connection.close();
  }
}

function listed({ service, calendar }: World, from: Period, atMs: number): ServiceRecord[] {
  const records: ServiceRecord[] = [];
  const first = from < calendar.from ? calendar.from : from;
  for (let period = first; period <= periodAt(atMs); period = addPeriods(period, 1)) {
    records.push(...service.list(period, atMs));
  }
  return records;
}

async function publishRun(writer: Writer, { atMs, from, records }: Reading, rules: AlertSettings): Promise<void> {
  const perPage = Math.max(1, records.length);
  await realRun({
    ...{ writer, now: () => atMs, source: listingOf(WORKSPACE, records, perPage), window: { from, to: null } },
    workspace: {
      id: WORKSPACE,
      name: WORKSPACE,
      alerts: rules,
      lookbackPeriods: LOOKBACK,
      settleHours: SETTLE_HOURS,
      perPage,
    },
  });
}

/** Returns what does what people do of their own accord, when its time has come. */
function createPeople(connection: LedgerDb, { calendar, incidents }: World): (nowMs: number) => void {
  const { plans, silences, closedTo } = incidents;
  const everything = { workspaceId: null, rule: '*', reason: 'planted', by: 'year', upToCredits: null };
  const acts = [
    ...plans.map(({ tenant, upTo, period }) => ({
      atMs: periodStartMs(period) - 7 * DAY_MS,
      act: (nowMs: number) => {
        const plan = { kind: 'plan' as const, tenant, period, upToCredits: BigInt(upTo) };
        addSilence(connection, { ...everything, ...plan, untilMs: periodEndMs(period) + 7 * DAY_MS, nowMs });
      },
    })),
    ...silences.map(({ tenant, period }) => ({
      atMs: periodStartMs(period) - 7 * DAY_MS,
      act: (nowMs: number) => {
        const silence = { kind: 'silence' as const, tenant, period, untilMs: periodEndMs(period) + 7 * DAY_MS };
        addSilence(connection, { ...everything, ...silence, nowMs });
      },
    })),
    ...calendar.months
      .filter(({ period }) => period <= closedTo)
      .map(({ period }) => ({
        atMs: periodEndMs(period) + 9 * DAY_MS,
        act: (nowMs: number) => {
          const close = { workspaceId: WORKSPACE, period, by: 'year', note: '', force: true };
          closePeriod(connection, { ...close, settleHours: SETTLE_HOURS, nowMs }, commitClose);
        },
      })),
  ].sort((a, b) => a.atMs - b.atMs);
  let started = false;
  return (nowMs) => {
    // Nobody can speak of a workspace before its first run; what is due waits for a run to have been.
    while (started && acts[0] !== undefined && acts[0].atMs <= nowMs) acts.shift()?.act(nowMs);
    started = true;
  };
}
