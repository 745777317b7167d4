import type Database from 'better-sqlite3';
import { routesOf } from '../../../src/alerts/notify/routes.ts';
import type { WorkspaceConfig } from '../../../src/config/types.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { Window } from '../../../src/ledger/journal/staging/staging.ts';
import { type SyncOutcome, syncWorkspace } from '../../../src/sync/run.ts';
import { StagingRoom } from '../../../src/sync/staging-room.ts';
import type { UsageSource } from '../../../src/sync/sync-deps.ts';
import { InProcessWriter } from '../../../src/writer/in-process-writer.ts';
import { plainDesk } from '../../../src/writer/open-desk.ts';
import type { Writer } from '../../../src/writer/writer.ts';
import { workspaceConfig } from './workspace-config.ts';

/** Where everything is told. */
export const LOG_ROUTES = routesOf([{ type: 'log', name: 'log' }]);
const logger = createLogger({ level: 'silent' });
const staging = new StagingRoom();
const signal = new AbortController().signal;

/** A writer over a ledger that the test has open, such as one in memory. */
export function writerOn(connection: Database.Database): Writer {
  return new InProcessWriter(plainDesk(connection));
}

export interface RealRun {
  writer: Writer;
  /** The service, without a network. */
  source: UsageSource;
  now: () => number;
  /** What is other than usual in the workspace's configuration. */
  workspace: Partial<WorkspaceConfig> & { id: string };
  window?: Window;
}

/** The program's own run of one workspace. No timer comes due: its lease is not renewed, and it may take any time. */
export function realRun({
  writer,
  source,
  now,
  workspace,
  window = { from: null, to: null },
}: RealRun): Promise<SyncOutcome> {
  const clock: Clock = { now, monotonic: now, after: () => () => undefined };
  const config = workspaceConfig('http://localhost', { consistency: 'counted', ...workspace });
  return syncWorkspace(
    { writer, source, clock, workspace: config, pace: async () => {}, staging, channels: LOG_ROUTES, logger },
    { kind: 'manual', slot: null, nextSlot: null, window, signal },
  );
}
