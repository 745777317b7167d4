import type { StatusReport } from './status-report.ts';

/** Converts the report into the document that `status --json` prints. */
export function statusDocument(report: StatusReport) {
  const { configuration: active, ahead, publish: copy } = report;
  return {
    ledger: report.ledger,
    configuration: active && {
      read_at: active.readAt,
      refused: active.refused && { at: active.refused.at, faults: active.refused.faults },
      needs_restart: active.needsRestart,
    },
    workspaces: report.workspaces,
    open_alerts: report.openAlerts,
    outbox: report.outbox,
    disabled_channels: report.disabled.map(({ name, disabledAt, reason }) => {
      return { name, disabled_at: disabledAt, reason };
    }),
    failing_channels: report.failing.map(({ name, reason, nextAttemptAt }) => {
      return { name, reason, next_attempt_at: nextAttemptAt };
    }),
    queue: report.queue,
    times_ahead: ahead && { count: ahead.count, latest_at: ahead.latestAt },
    not_closed: report.skipped.map(({ workspaceId, period }) => ({ workspace_id: workspaceId, period })),
    no_jumps_before: report.short.map(({ workspaceId, from }) => ({ workspace_id: workspaceId, period: from })),
    exports: report.exports.map(({ name, writtenAt, failing }) => ({ name, last_file_at: writtenAt, failing })),
    outlets: report.outlets.map(({ name, state, waiting, events, trouble }) => {
      const { held, late, refused } = events;
      return { name, state, waiting, held: held.events, late: late.events, refused: refused.events, trouble };
    }),
    publish: copy && {
      position: copy.standing.position,
      lag_links: copy.standing.lag.links,
      lag_seconds: copy.standing.lag.seconds,
      fault: copy.standing.fault && { code: copy.standing.fault.code, message: copy.standing.fault.message },
    },
  };
}
