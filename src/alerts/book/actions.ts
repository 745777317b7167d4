import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { systemRandomness } from '../../core/randomness.ts';

/** Somebody has seen an alert and looks after it. */
export interface AcknowledgeRequest {
  alertId: string;
  by: string;
  note: string | null;
  nowMs: number;
}

/** What is not to be told until a moment. In patterns `*` stands for anything. */
export interface SilenceRequest {
  kind: 'silence' | 'plan';
  /** Null: every workspace. */
  workspaceId: string | null;
  rule: string;
  tenant: string;
  period: string;
  /** A plan covers credits up to this figure; null is no limit. */
  upToCredits: bigint | null;
  untilMs: number;
  reason: string;
  by: string;
  nowMs: number;
}

/**
 * Records that somebody looks after a firing alert. It is told of again only at a higher stage or level, and when it is
 * resolved. Throws `unknown_alert`, or `alert_not_firing` for one that has ended or waits.
 */
export function acknowledgeAlert(connection: Database.Database, request: AcknowledgeRequest): void {
  const { alertId, by, note, nowMs } = request;
  connection
    .transaction(() => {
      const alert = connection
        .prepare('SELECT alert_key, state, stage, revision, current_credits FROM alerts WHERE alert_id = ?')
        .safeIntegers()
        .get(alertId) as
        | { alert_key: bigint; state: string; stage: string; revision: bigint; current_credits: bigint | null }
        | undefined;
      if (alert === undefined) {
        throw new AppError('unknown_alert', `there is no alert ${JSON.stringify(alertId)}`, {
          hint: '`usage-ledger alerts list --all` shows every alert with its id',
        });
      }
      if (alert.state !== 'firing') {
        throw new AppError('alert_not_firing', `alert ${JSON.stringify(alertId)} is ${alert.state}`, {
          hint: 'only an alert that fires can be acknowledged',
        });
      }
      const at = isoTime(nowMs);
      connection
        .prepare(
          "UPDATE alerts SET state = 'acknowledged', revision = revision + 1, last_changed_at = ? WHERE alert_key = ?",
        )
        .run(at, alert.alert_key);
      connection
        .prepare(
          `INSERT INTO alert_transitions (alert_key, revision, change, state, stage, actor, at, current_credits, silent,
             silent_because, note)
           VALUES (?, ?, 'acknowledged', 'acknowledged', ?, ?, ?, ?, 1, 'quiet', ?)`,
        )
        .run(alert.alert_key, alert.revision + 1n, alert.stage, by, at, alert.current_credits, note);
    })
    .immediate();
}

/** Mutes what fits the patterns; returns the id of the silence. Throws `unknown_workspace`. */
export function addSilence(
  connection: Database.Database,
  request: SilenceRequest,
  randomness = systemRandomness,
): string {
  const { workspaceId } = request;
  const workspaceKey =
    workspaceId === null
      ? null
      : connection.prepare('SELECT workspace_key FROM workspaces WHERE workspace_id = ?').pluck().get(workspaceId);
  if (workspaceKey === undefined) {
    throw new AppError('unknown_workspace', `the ledger has nothing of workspace ${JSON.stringify(workspaceId)}`, {
      hint: 'sync it first, or leave --workspace out',
    });
  }
  const silenceId = `${request.kind}_${randomness.bytes(6).toString('hex')}`;
  connection
    .prepare(
      `INSERT INTO silences (silence_id, kind, workspace_key, rule, tenant, period, up_to_credits, until, reason,
         created_by, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      ...[silenceId, request.kind, workspaceKey, request.rule, request.tenant, request.period, request.upToCredits],
      ...[isoTime(request.untilMs), request.reason, request.by, isoTime(request.nowMs)],
    );
  return silenceId;
}

/** Ends a silence or a plan before its time. Throws `unknown_silence` when there is none that still mutes. */
export function endSilence(
  connection: Database.Database,
  { silenceId, by, nowMs }: { silenceId: string; by: string; nowMs: number },
): void {
  const { changes } = connection
    .prepare(
      `UPDATE silences SET ended_at = @at, ended_by = @by
       WHERE silence_id = @silenceId AND ended_at IS NULL AND until > @at`,
    )
    .run({ at: isoTime(nowMs), by, silenceId });
  if (changes === 1) return;
  throw new AppError('unknown_silence', `no silence or plan ${JSON.stringify(silenceId)} is in force`, {
    hint: '`usage-ledger alerts silences` shows those that are',
  });
}
