import { prepareForChannels } from '../../../src/alerts/outbox/evaluate-due.ts';
import { type ChannelRoute, type NotifyOptions, toRoutes } from '../../../src/alerts/pipeline/route.ts';
import type { WorkspaceConfig } from '../../../src/config/types.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { RunKind } from '../../../src/ledger/journal/runs/claim-run.ts';
import type { RunWindow } from '../../../src/ledger/journal/staging/staging.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import { syncWorkspace } from '../../../src/sync/run.ts';
import { StagingMemory } from '../../../src/sync/staging-room.ts';
import type { UsageSource } from '../../../src/sync/sync-deps.ts';
import { plainSession, type Session } from '../../../src/writer/session.ts';
import { createWriter, type Writer } from '../../../src/writer/writer.ts';
import { InProcessWriter } from '../in-process-writer.ts';
import type { Applied } from '../sandbox-fixture.ts';
import { workspaceConfig } from './workspace-config.ts';

/** Where everything is told. */
export const LOG_ROUTES = toRoutes([{ type: 'log', name: 'log' }]);
const logger = createLogger({ level: 'silent' });
const staging = new StagingMemory();
const signal = new AbortController().signal;

const routesBy = new WeakMap<LedgerDb, readonly ChannelRoute[]>();

/** Sets the channels that alerts over this connection go to, and evaluates nothing. */
export function giveRoutes(connection: LedgerDb, routes: readonly ChannelRoute[]): void {
  routesBy.set(connection, routes);
}

/** The channels of a connection and a moment, for what evaluates alerts; without `setRoutes` there are no channels. */
export function notifying(connection: LedgerDb, nowMs: number): NotifyOptions {
  return { routes: routesBy.get(connection) ?? [], nowMs };
}

/** From now on alerts are told by these over this connection, as by a daemon that has started with them. */
export function setRoutes(connection: LedgerDb, routes: readonly ChannelRoute[], nowMs = 0): void {
  giveRoutes(connection, routes);
  prepareForChannels(connection, notifying(connection, nowMs));
}

/** A writer over a ledger that the test has open, such as one in memory. It tells the log, unless other routes were set. */
export function writerOn(connection: LedgerDb): Writer {
  if (notifying(connection, 0).routes.length === 0) giveRoutes(connection, LOG_ROUTES);
  return createWriter(new InProcessWriter(sessionOn(connection)));
}

/** A session whose channels are those of its connection, whenever they are set. */
export function sessionOn(connection: LedgerDb): Session {
  return Object.defineProperty(plainSession(connection), 'routes', {
    get: () => notifying(connection, 0).routes,
    set: (routes: readonly ChannelRoute[]) => giveRoutes(connection, routes),
  });
}

export interface RealRun {
  writer: Writer;
  /** The service, without a network. */
  source: UsageSource;
  now: () => number;
  /** What is other than usual in the workspace's configuration. */
  workspace: Partial<WorkspaceConfig> & { id: string };
  window?: RunWindow;
  kind?: RunKind;
  slot?: string | null;
}

/** The program's own run of one workspace. No timer comes due: its lease is not renewed, and it may take any time. */
export async function realRun({
  writer,
  source,
  now,
  workspace,
  window,
  kind = 'manual',
  slot = null,
}: RealRun): Promise<Applied> {
  const clock: Clock = { now, monotonic: now, after: () => () => undefined };
  // What is listed no more is believed at once: that much of it is not has tests of its own.
  const usual = { consistency: 'counted', suspiciousShrink: 1 } as const;
  const config = workspaceConfig('http://localhost', { ...usual, ...workspace });
  const outcome = await syncWorkspace(
    { writer, source, clock, workspace: config, pace: async () => {}, staging, logger },
    { kind, slot, window: window ?? { from: null, to: null }, signal },
  );
  if (outcome.status !== 'applied') throw new Error(`the slot was done by ${outcome.runId}`);
  return outcome;
}
