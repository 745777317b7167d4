import { isDeepStrictEqual } from 'node:util';
import { acknowledgeAlert, addSilence, endSilence, recordFeedback, type SilenceRequest } from '../alerts/actions.ts';
import { endFaultsOfRemovedChannels, reportChannelHealth } from '../alerts/channels/channel-faults.ts';
import type { ChannelReport } from '../alerts/channels/deliver.ts';
import { endAlerts, withdrawMessages } from '../alerts/end-alerts.ts';
import { evaluateJob, evaluateStale, type StaleCheck } from '../alerts/evaluate-system.ts';
import { disableChannel } from '../alerts/outbox/channel-states.ts';
import { composeDueMessages } from '../alerts/outbox/compose-due.ts';
import {
  type AttemptRecord,
  type ClaimedDelivery,
  claimDelivery,
  type PruneDeliveriesResult,
  pruneDeliveries,
  recordAttempt,
} from '../alerts/outbox/deliveries.ts';
import type { EmergencyMessage } from '../alerts/outbox/emergency.ts';
import { prepareForChannels, scheduleNewDecisions } from '../alerts/outbox/evaluate-due.ts';
import { type ReplayReport, type ReplayRequest, replayDead } from '../alerts/outbox/replay.ts';
import type { ChannelRoute } from '../alerts/pipeline/route.ts';
import type { JobHealth } from '../alerts/rules/job-failed/detect.ts';
import type { EvaluationResult } from '../alerts/state/alert-change.ts';
import { isoTime } from '../core/clock.ts';
import { collectGarbage } from '../core/process/memory.ts';
import type { ActLink } from '../ledger/journal/acts.ts';
import { setCards } from '../ledger/journal/charges/charge-run.ts';
import { chargeReopened, commitClose, type StatementForm } from '../ledger/journal/charges/commit-close.ts';
import {
  type AddLineRequest,
  addLine,
  type LineChange,
  type RevokeRequest,
  revokeLine,
} from '../ledger/journal/charges/manual-lines.ts';
import { forgetNames, importNames } from '../ledger/journal/charges/names.ts';
import {
  type CloseRequest,
  closePeriod,
  type PeriodEvent,
  type ReopenRequest,
  reopenPeriod,
} from '../ledger/journal/close/close-period.ts';
import { type ReconciliationRequest, recordReconciliation } from '../ledger/journal/close/record-reconciliation.ts';
import {
  advanceOutlet,
  markInFlight,
  pauseOutlet,
  pauseRestored,
  recordComparison,
  recordRejections,
  resumeOutlet,
  settleEvents,
  startOutlet,
} from '../ledger/journal/outlets/outlet-book.ts';
import {
  type ResumeWorkspaceRequest,
  type RetireWorkspaceRequest,
  resumeWorkspace,
  retireWorkspace,
} from '../ledger/journal/retire-workspace.ts';
import { type PrunedRuns, pruneRuns } from '../ledger/journal/runs/prune-runs.ts';
import { truncateLog } from '../ledger/store/file/open.ts';
import { runCommands } from './run-commands.ts';
import {
  type Command,
  onConnection,
  reconfigureSession,
  recordHead,
  type Session,
  type WithCheckpoint,
} from './session.ts';

/** Every operation that changes the ledger, by its name as a method of `Writer`. */
export const WRITER_COMMANDS = {
  ...runCommands,

  recordFeedback: onConnection(recordFeedback),
  acknowledgeAlert: onConnection(acknowledgeAlert),
  /** Returns the id of the silence. */
  addSilence: ({ connection, claimant }: Session, request: SilenceRequest): string =>
    addSilence(connection, request, claimant.randomness),
  endSilence: onConnection(endSilence),

  /** Raises alerts for workspaces that had no complete run for too long. */
  raiseStale: (
    { connection, routes }: Session,
    { workspaces, nowMs }: { workspaces: StaleCheck[]; nowMs: number },
  ): EvaluationResult => evaluateStale(connection, workspaces, { routes, nowMs }),

  /**
   * Raises an alert about a failing job of the ledger, or ends it if `detail` is null. `alreadySent` lists the
   * emergency notifications that were sent or may have been sent.
   */
  reportJobHealth: (
    { connection, routes }: Session,
    { nowMs, alreadySent, ...health }: JobHealth & { nowMs: number; alreadySent?: readonly EmergencyMessage[] },
  ): EvaluationResult => evaluateJob(connection, health, { routes, nowMs }, alreadySent),

  compose: ({ connection, routes }: Session, { nowMs }: { nowMs: number }): number =>
    composeDueMessages(connection, { routes, nowMs }),
  claimDelivery: (
    { connection, routes }: Session,
    request: { notificationId: string; nowMs: number },
  ): ClaimedDelivery | null => claimDelivery(connection, { ...request, routes }),
  /** Records an attempt to send a notification, and raises or ends the alert about its channel accordingly. */
  recordAttempt(
    { connection, routes }: Session,
    { about, ...record }: AttemptRecord & { about: ChannelReport | null },
  ): void {
    connection
      .transaction(() => {
        recordAttempt(connection, record);
        if (about === null) return;
        const { channel, says } = about;
        const reason = record.error ?? 'the receiver rejected it';
        if (says === 'disabled') disableChannel(connection, channel, reason, record.nowMs);
        reportChannelHealth(
          connection,
          { channel, reason: says === 'works' ? null : reason },
          { routes, nowMs: record.nowMs },
        );
      })
      .immediate();
  },
  replayDead: ({ connection, routes }: Session, request: ReplayRequest): ReplayReport =>
    replayDead(connection, { ...request, routes }),
  /**
   * Schedules the notifications of all open alerts, and ends alerts about channels that are no longer configured. A
   * daemon calls it when it starts.
   */
  evaluateAll({ connection, routes }: Session, { nowMs }: { nowMs: number }): void {
    endFaultsOfRemovedChannels(connection, { routes, nowMs });
    prepareForChannels(connection, { routes, nowMs });
  },

  /**
   * Applies a reloaded configuration. If the channels changed, it schedules the notifications of all open alerts again.
   */
  reconfigure(
    session: Session,
    { nowMs, ...settings }: { routes: readonly ChannelRoute[]; secrets: readonly string[]; nowMs: number },
  ): void {
    const before = session.routes;
    reconfigureSession(session, settings);
    const { connection, routes } = session;
    if (isDeepStrictEqual(before, routes)) return;
    endFaultsOfRemovedChannels(connection, { routes, nowMs });
    prepareForChannels(connection, { routes, nowMs });
  },

  closePeriod: (
    session: Session,
    { statement, ...request }: CloseRequest & { statement?: StatementForm },
  ): PeriodEvent & WithCheckpoint =>
    withHeadRecorded(
      session,
      closePeriod(session.connection, request, (period) => commitClose(period, session.claimant.randomness, statement)),
      request.nowMs,
    ),

  reopenPeriod: (session: Session, request: ReopenRequest): PeriodEvent & WithCheckpoint =>
    withHeadRecorded(session, reopenPeriod(session.connection, request, chargeReopened), request.nowMs),

  recordReconciliation(session: Session, request: ReconciliationRequest): ActLink & WithCheckpoint {
    const link = recordReconciliation(session.connection, request);
    return { ...link, ...recordHead(session, link.seq, link.digest, request.nowMs) };
  },

  setCards: onConnection(setCards),
  addLine(session: Session, request: AddLineRequest): LineChange & WithCheckpoint {
    const line = addLine(session.connection, request);
    return { ...line, ...recordHead(session, line.seq, line.digest, request.nowMs) };
  },
  revokeLine(session: Session, request: RevokeRequest): LineChange & WithCheckpoint {
    const line = revokeLine(session.connection, request);
    return { ...line, ...recordHead(session, line.seq, line.digest, request.nowMs) };
  },
  importNames: onConnection(importNames),
  forgetNames: onConnection(forgetNames),

  startOutlet: onConnection(startOutlet),
  markInFlight: onConnection(markInFlight),
  advanceOutlet: onConnection(advanceOutlet),
  pauseOutlet: onConnection(pauseOutlet),
  pauseRestored: onConnection(pauseRestored),
  resumeOutlet: onConnection(resumeOutlet),
  settleEvents: onConnection(settleEvents),
  recordComparison: onConnection(recordComparison),
  recordRejections: onConnection(recordRejections),

  /** Deletes a limited number of runs and notifications that are older than `beforeMs` and need not be kept. */
  prune({ connection }: Session, { beforeMs, nowMs }: { beforeMs: number; nowMs: number }): PruneResult {
    const before = isoTime(beforeMs);
    const runs = pruneRuns(connection, before, nowMs);
    const { notifications, more } = pruneDeliveries(connection, before);
    return { ...runs, notifications, more: runs.more || more };
  },

  /** Truncates SQLite's write-ahead log; returns false if a reader still needs its content. */
  truncateLog: ({ connection }: Session, _args: undefined): boolean => truncateLog(connection),

  /** Collects the garbage of the writer's thread. */
  collectGarbage: (_session: Session, _args: undefined): void => collectGarbage(),

  /**
   * Retires a workspace. `notifications` is the number of notifications that announce its ended alerts; if another
   * ledger continues the workspace, it is the number withdrawn, because that ledger sends them.
   */
  retireWorkspace(
    session: Session,
    request: RetireWorkspaceRequest,
  ): ActLink & { notifications: number } & WithCheckpoint {
    const { connection, routes } = session;
    const { settled, seq, digest } = retireWorkspace(connection, request, (workspace) =>
      request.elsewhere
        ? withdrawMessages(connection, workspace.workspaceKey, request.nowMs)
        : endAlerts(connection, { ...workspace, by: request.by, nowMs: request.nowMs, routes }),
    );
    return { seq, digest, notifications: settled, ...recordHead(session, seq, digest, request.nowMs) };
  },
  resumeWorkspace(session: Session, request: ResumeWorkspaceRequest): ActLink & WithCheckpoint {
    const { connection } = session;
    const link = resumeWorkspace(connection, request, ({ workspaceKey }) =>
      scheduleNewDecisions(connection, workspaceKey, request.nowMs),
    );
    return { ...link, ...recordHead(session, link.seq, link.digest, request.nowMs) };
  },
};

type Commands = typeof WRITER_COMMANDS;
export type CommandName = keyof Commands;
export type Args<Name extends CommandName> = Parameters<Commands[Name]>[1];
export type Result<Name extends CommandName> = ReturnType<Commands[Name]>;

/**
 * A method for each command of the table. `keyof typeof WRITER_COMMANDS` is repeated here, because code editors then
 * navigate from the method to the table.
 */
export type WriterCommands = {
  [Name in keyof typeof WRITER_COMMANDS]: (
    args: Args<Name>,
    transfer?: readonly ArrayBuffer[],
  ) => Promise<Result<Name>>;
};

export function execute<Name extends CommandName>(session: Session, name: Name, args: Args<Name>): Result<Name> {
  const command = WRITER_COMMANDS[name] as Command<Args<Name>, Result<Name>>;
  return command(session, args);
}

function withHeadRecorded(session: Session, event: PeriodEvent, nowMs: number): PeriodEvent & WithCheckpoint {
  return { ...event, ...recordHead(session, event.eventSeq, event.digest, nowMs) };
}

/** The numbers of deleted records, and whether more remain to be deleted. */
export type PruneResult = PrunedRuns & PruneDeliveriesResult;
