import type { Planted } from './all.ts';

/** Workspaces that another ledger reads, and usage that is billed elsewhere. */
export const COPIES: Planted = {
  'src/ledger/journal/retired-workspaces.ts': {
    'ended-and-read': [
      'a workspace that was ended goes on being read',
      'if (found !== undefined) throw',
      'if (found !== undefined && workspaceKey === 0) throw',
      'isNotNull(workspaces.endedSeq)',
      'eq(workspaces.endedSeq, -1)',
    ],
  },
  'src/alerts/outbox/evaluate-due.ts': {
    'ended-and-told': [
      'the ledger that has ended a workspace goes on telling of its alerts',
      'sql.raw(`NOT ',
      'sql.raw(`2 > ',
    ],
  },
  'src/freshness/staleness.ts': {
    'ended-and-stale': ['a workspace that was ended counts as stale', 'if (facts.ended || Math.min(', 'if (Math.min('],
  },
  'src/writer/commands.ts': {
    'sent-by-both': [
      'what was on its way when a workspace was ended is sent by the ledger and by its copy',
      '? withdrawMessages(connection, workspace.workspaceKey, request.nowMs)',
      '? 0',
    ],
  },
  'src/alerts/end-alerts.ts': {
    'copied-and-told-anew': [
      'what a receiver knows of a workspace is told again by the copy that goes on with it',
      "'DELETE FROM alert_notified WHERE alert_key IN (SELECT alert_key FROM alerts WHERE workspace_key IS NULL)'",
      "'DELETE FROM alert_notified'",
    ],
    'two-ledgers-one-alert': [
      'a fault of the copy and one of the ledger that it was made of are one for their receivers',
      '    renameSystemAlerts(connection);\n',
      '',
    ],
  },
  'src/ledger/transfer/backup/restore.ts': {
    'split-once': [
      'a restore that was broken off cannot be done again, though somebody asks for it',
      'if (!replaceOther && held?.ledgerId != null',
      'if (held?.ledgerId != null',
    ],
  },
  'src/daemon/job-handlers.ts': {
    'taken-back-and-unread': [
      'a workspace whose end was taken back is not read for a day',
      'const RETIRED_RETRY_DELAY_MS = 60 * 60_000;',
      'const RETIRED_RETRY_DELAY_MS = 24 * 60 * 60_000;',
    ],
  },
  'src/ledger/journal/outlets/outlet-book.ts': {
    'the-cursor-moves-before-the-answer': [
      'what a billing system did not take is never sent again',
      'const flight = { flightTo, flightSince: row.flightSince ?? at };',
      'const flight = { cursor: flightTo };',
    ],
  },
  'src/outlets/forwarder.ts': {
    'the-cursor-moves-whatever-the-answer-is': [
      'what a billing system was asked to take while it was away is never billed',
      'const upTo = stoppedAt == null ? lastId : stoppedAt.entryId - 1;',
      'const upTo = lastId;',
    ],
    'held-for-good': [
      'usage of a tenant without a name is never billed, though somebody has named it since',
      '.find((entry) => this.#judge([entry], row).held === 0);',
      '.find((entry) => this.#judge([entry], row).held < 0);',
    ],
  },
  'src/outlets/events.ts': {
    'the-key-is-made-of-the-time': ['what is sent again is billed twice', 'entry.digest.slice(0, 12)', 'nowMs'],
    'the-clock-says-which-month-it-is': [
      'a correction of last month is billed in this one',
      'const timeMs = eventTime(entry, nowMs);',
      'const timeMs = nowMs;',
    ],
  },
};
