import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Queue } from 'bullmq';
import { type AlertCount, countAlerts } from '../../alerts/track/open-alerts.ts';
import type { Config } from '../../config/types.ts';
import { systemClock, type WallClock } from '../../core/clock.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerReader } from '../../ledger/store/file/open.ts';
import { exportStanding } from '../../reports/files/export-folder.ts';
import type { Traffic } from '../../wiring/traffic.ts';
import type { WorkspaceLine } from '../state/workspace-state.ts';

/** What a daemon measures of itself beside its health. */
export interface Measurements {
  attempts: Traffic['attempts'];
  onAttempt: Traffic['onAttempt'];
  waits: Traffic['waits'];
  deliveries: Traffic['deliveries'];
  /** When the daemon tries each workspace next; those that it does not try are left out. */
  nextAttempts(): { workspaceId: string; atMs: number }[];
  /** What answers under way may take. */
  reservedBytes(): number;
  storage(): { ledgerBytes: number; logBytes: number; diskFreeBytes: number };
  /** The end of the chain: its links, and its digest in hex. */
  head(): { seq: number; digest: string };
  /** Alerts whose cause has not ended, those that wait to be confirmed among them. */
  alerts(): Pick<AlertCount, 'rule' | 'state' | 'count'>[];
  /** The files that are written by themselves: whether each fails now, and when its last file was written. */
  exports(): { name: string; failing: boolean; lastAtMs: number | null }[];
  /** How long a channel has been owed what waits for no others; 0 without anything. */
  outboxAgeSeconds(): number;
  /** Age of the oldest job that could begin, by queue; 0 without one. Asks Redis; may reject. */
  queueAgesSeconds(): Promise<Record<string, number>>;
}

export interface MeasurementSources {
  reader: LedgerReader;
  config: Pick<Config, 'ledger' | 'exports'>;
  clock: WallClock;
  queues: readonly Queue[];
  traffic: Traffic;
  reservedBytes: () => number;
  workspaces: () => WorkspaceLine[];
}

const OLDEST_OWED = `SELECT min(owed_at) FROM alert_notified
  WHERE owed IS NOT NULL AND given_up = 0 AND (goes_with IS NULL OR failures > 0)`;

export function createMeasurements(sources: MeasurementSources): Measurements {
  const { reader, config, clock, queues, traffic, reservedBytes, workspaces } = sources;
  const { connection } = reader;
  const oldestOwed = connection.prepare(OLDEST_OWED).pluck();
  return {
    attempts: () => traffic.attempts(),
    onAttempt: (listener) => traffic.onAttempt(listener),
    waits: () => traffic.waits(),
    deliveries: () => traffic.deliveries(),
    nextAttempts: () =>
      workspaces().flatMap(({ workspace_id: workspaceId, next_attempt_at: at }) =>
        at === null ? [] : [{ workspaceId, atMs: Date.parse(at) }],
      ),
    reservedBytes,
    storage() {
      const { bavail, bsize } = statfsSync(dirname(config.ledger.path));
      const log = `${config.ledger.path}-wal`;
      return { ledgerBytes: sizeOf(config.ledger.path), logBytes: sizeOf(log), diskFreeBytes: bavail * bsize };
    },
    head: () => headOfChain(connection),
    exports: () =>
      config.exports.map((wanted) => {
        const { name, failing, writtenAt } = exportStanding(wanted);
        return { name, failing: failing !== null, lastAtMs: writtenAt === null ? null : Date.parse(writtenAt) };
      }),
    alerts: () => countAlerts(connection),
    outboxAgeSeconds() {
      const at = oldestOwed.get() as string | null;
      return at === null ? 0 : Math.max(0, clock.now() - Date.parse(at)) / 1000;
    },
    async queueAgesSeconds() {
      const ages = queues.map(async (queue) => {
        const [job] = await queue.getJobs(['waiting'], 0, 0, true);
        // BullMQ asks the system's clock when it writes the time of a job.
        const age = job === undefined ? 0 : Math.max(0, systemClock.now() - job.timestamp) / 1000;
        return [queueLabel(queue.name), age] as const;
      });
      return Object.fromEntries(await Promise.all(ages));
    },
  };
}

/** `sync`: the name inside Redis also holds the id of the ledger. */
export function queueLabel(name: string): string {
  return name.slice(name.lastIndexOf('-') + 1);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
