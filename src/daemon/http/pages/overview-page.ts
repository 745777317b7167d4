import { mutedWords } from '../../../alerts/messages/muted.ts';
import { isOfMonthEnd } from '../../../alerts/messages/sentence.ts';
import { alertMoments } from '../../../alerts/queries/alert-moments.ts';
import { alertRows } from '../../../alerts/queries/alerts.ts';
import { isoTime } from '../../../core/clock.ts';
import { withTimeout } from '../../../core/deadline.ts';
import { htmlText } from '../../../core/text/html-text.ts';
import { counted } from '../../../core/text/words.ts';
import { formatLocalTime, localDay } from '../../../core/time-zone.ts';
import { createSlotHistory } from '../../../freshness/schedules.ts';
import { syncFactsReader } from '../../../freshness/staleness.ts';
import {
  sortWorstFirst,
  type WorkspaceLine,
  type WorkspaceState,
  workspaceLines,
  workspaceStatuses,
} from '../../../freshness/workspace-status.ts';
import { describeOutlet } from '../../../outlets/outlet-status.ts';
import { formatInteger, relativeTime, timeAgo } from '../../../reports/formats/columns.ts';
import type { Context } from '../../../wiring/context.ts';
import type { Measurements } from '../measurements.ts';
import type { HealthProbe } from '../probe.ts';
import { QUEUE_BOARD_PATH } from '../queue-board.ts';
import { readinessFaults } from '../readiness.ts';

const SHOWN_ALERTS = 20;
const REFRESH_SECONDS = 30;

const STATES: Readonly<Record<WorkspaceState, { label: string; kind: 'bad' | 'odd' | 'good' | 'dim' }>> = {
  stale: { label: 'stale', kind: 'bad' },
  failed: { label: 'failed', kind: 'bad' },
  never: { label: 'never synced', kind: 'odd' },
  fresh: { label: 'fresh', kind: 'good' },
  ended: { label: 'ended', kind: 'dim' },
  not_configured: { label: 'not configured', kind: 'dim' },
};

const OVERVIEW_STYLE = `
:root { color-scheme: light dark; --line: #8884; --bad: #c62828; --odd: #b26a00; --good: #2e7d32; --dim: #777; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --odd: #ffb74d; --good: #81c784; --dim: #aaa; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; justify-content: space-between; }
.verdict { border-left: 5px solid; margin: 1rem 0; padding: .5rem .8rem; background: #8881; }
.verdict ul { margin: .3rem 0 0; padding-left: 1.2rem; }
.bad { color: var(--bad); } .odd { color: var(--odd); } .good { color: var(--good); } .dim, small { color: var(--dim); }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
th, td.number, td code, .firm { white-space: nowrap; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem .35rem 0; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; } dd { margin: 0; }
@media (max-width: 640px) {
  thead { display: none; } tr { display: block; border-bottom: 1px solid var(--line); padding: .4rem 0; }
  td, td.number { border: 0; display: grid; grid-template-columns: 7.5rem 1fr; padding: .05rem 0; text-align: left; }
  td::before { content: attr(data-label); color: var(--dim); }
}`;

/** Renders the page `/` as one read-only document without scripts. */
export function overviewPage(overview: Overview): string {
  const { version, nowMs, timezone, uptimeSeconds, workspaces, alerts, hiddenAlerts } = overview;
  const at = formatLocalTime(isoTime(nowMs), timezone);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<link rel="icon" href="data:,">
<title>${isHealthy(overview) ? 'ok' : 'attention'}: usage-ledger</title>
<style>${OVERVIEW_STYLE}</style>
</head>
<body>
<header><h1>usage-ledger</h1><small>${at}, version ${htmlText(version)}, up ${duration(uptimeSeconds)}</small></header>
${overviewVerdict(overview)}
<h2>Workspaces</h2>
${table(
  ['Workspace', 'State', 'Last complete', 'Last run', 'Covers', '#Open alerts'],
  workspaces.map((line) => workspaceCells(line, nowMs)),
)}
<h2>Open alerts</h2>
${
  alerts.length === 0
    ? '<p>No open alerts.</p>'
    : table(
        ['Severity', 'Since', 'Summary', '#Credits at stake', 'Alert'],
        alerts.map((alert) => [
          `<span class="firm ${alert.severity === 'critical' ? 'bad' : 'odd'}">${alert.severity}</span>`,
          `<span class="firm">${alert.first_fired_at === null ? '' : localDay(alert.first_fired_at, timezone)}</span>`,
          `${htmlText(alert.summary)}${quietText(alert)}`,
          stakeText(alert),
          `<code>${htmlText(alert.alert_id)}</code>`,
        ]),
      )
}
${hiddenAlerts > 0 ? `<p>and ${formatInteger(hiddenAlerts)} more: run <code>usage-ledger alerts</code></p>` : ''}
<h2>Queues and storage</h2>
${overviewFacts(overview)}
</body>
</html>
`;
}

function stakeText({ at_stake_credits: credits, period, isOfMonthEnd }: Overview['alerts'][number]): string {
  if (credits === null || credits === 0n) return '';
  return `${formatInteger(credits)}${isOfMonthEnd ? ` <small>by the end of ${period}</small>` : ''}`;
}

function quietText({ state, muted_because }: Overview['alerts'][number]): string {
  const words = [state === 'acknowledged' ? 'acknowledged' : null, mutedWords(muted_because)].filter((label) => label);
  return words.length === 0 ? '' : ` <small>${htmlText(words.join(', '))}</small>`;
}

function isHealthy({ faults, workspaces, outbox }: Overview): boolean {
  const wrong = workspaces.some(({ state }) => state === 'stale' || state === 'failed');
  return faults.length === 0 && !wrong && outbox.dead === 0;
}

function overviewVerdict(overview: Overview): string {
  const { faults, workspaces, outbox, alerts, hiddenAlerts } = overview;
  if (isHealthy(overview)) {
    const open = alerts.length + hiddenAlerts;
    if (open === 0) return '<p class="verdict good">Running. No open alerts.</p>';
    return `<p class="verdict odd">Running. ${counted(open, 'open alert')}.</p>`;
  }
  const reported = new Set(faults.map(({ workspace_id }) => workspace_id));
  const failing = workspaces.filter(
    ({ state, workspace_id }) => (state === 'stale' || state === 'failed') && !reported.has(workspace_id),
  );
  const lines = [
    ...faults.map(({ message }) => message),
    ...failing.map(({ name, last_run: run }) => `${name}: ${run?.error_code ?? 'stale'}: ${run?.error_message ?? ''}`),
    ...(outbox.dead > 0
      ? [`${counted(outbox.dead, 'notification')} given up: run \`usage-ledger alerts replay\``]
      : []),
  ];
  const items = lines.map((line) => `<li>${htmlText(line)}</li>`).join('');
  return `<div class="verdict bad">Needs attention<ul>${items}</ul></div>`;
}

function workspaceCells(line: WorkspaceLine, nowMs: number): string[] {
  const { label, kind } = STATES[line.state];
  const ago = (at: string | null) => timeAgo(at, nowMs);
  const id = line.name === line.workspace_id ? '' : ` <small>${htmlText(line.workspace_id)}</small>`;
  return [
    `${htmlText(line.name)}${id}`,
    `<span class="${kind}">${label}</span>`,
    ago(line.last_complete_run_at),
    line.last_status === null ? 'none' : `${htmlText(line.last_status)} ${ago(line.last_attempt_at)}`,
    line.covers_from === null ? '' : `${htmlText(line.covers_from)} to ${htmlText(line.covers_to ?? '')}`,
    formatInteger(line.open_alerts),
  ];
}

function overviewFacts({ queues, outbox, outlets, storage }: Overview): string {
  const jobs = Object.entries(queues ?? {}).map(([name, { waiting, active, delayed, failed }]) => [
    name,
    `${waiting} waiting, ${active} active${delayed > 0 ? `, ${delayed} delayed` : ''}, ${failed} failed${failed > 0 ? ' in the last days' : ''}`,
  ]);
  const pairs = [
    ...(queues === null ? [['queues', 'Redis is not available']] : jobs),
    ...outlets.map((standing) => [`outlet ${standing.name}`, describeOutlet(standing)]),
    ['notifications', `${outbox.pending} waiting, ${outbox.dead} given up, ${outbox.held} for the daily summary`],
    [
      'ledger',
      `${formatSize(storage.ledgerBytes)}, write-ahead log ${formatSize(storage.logBytes)}, ${formatSize(storage.diskFreeBytes)} free`,
    ],
  ];
  const list = pairs.map(([name, value]) => `<dt>${htmlText(name ?? '')}</dt><dd>${htmlText(value ?? '')}</dd>`);
  return `<dl>${list.join('')}</dl>
<p><a href="/report">Usage and money</a> · <a href="${QUEUE_BOARD_PATH}">Queue jobs</a> · <a href="/metrics">Metrics</a> · <a href="/readyz">Readiness</a></p>`;
}

/** Renders a table. A header that starts with `#` marks a column of numbers. Cells are HTML. */
function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const kind = (header: string) => (header.startsWith('#') ? ' class="number"' : '');
  const label = (header: string) => header.replace('#', '');
  const head = headers.map((header) => `<th${kind(header)}>${label(header)}</th>`).join('');
  const body = rows.map((cells) => {
    const row = headers.map((header, index) => {
      return `<td${kind(header)} data-label="${label(header)}"><span>${cells[index] ?? ''}</span></td>`;
    });
    return `<tr>${row.join('')}</tr>`;
  });
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table>`;
}

function duration(seconds: number): string {
  return relativeTime(0, seconds * 1000).replace(/ ago$/, '');
}

function formatSize(bytes: number): string {
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

const OVERVIEW_QUEUE_DEADLINE_MS = 2_000;

export type Overview = Awaited<ReturnType<typeof readOverview>>;

export function readWorkspaces(context: Context, probe: HealthProbe): WorkspaceLine[] {
  const { config, clock } = context;
  const { connection } = context.reader();
  const sources = {
    factsOf: syncFactsReader(connection),
    waitingSince: probe.waitingSince.bind(probe),
    historyOf: createSlotHistory(connection, clock, 0),
  };
  return workspaceLines(config, workspaceStatuses(connection), sources, clock.now());
}

export async function readOverview(context: Context, probe: HealthProbe, measured: Measurements) {
  const { clock, version } = context;
  const { timezone } = context.config;
  const { connection } = context.reader();
  const nowMs = clock.now();
  const queues = probe.redisUp()
    ? await withTimeout(probe.queueCounts(), OVERVIEW_QUEUE_DEADLINE_MS).catch(() => null)
    : null;
  const open = alertRows(connection, { states: 'open', nowMs });
  const momentsOf = alertMoments(connection, timezone);
  return {
    version,
    nowMs,
    timezone,
    uptimeSeconds: process.uptime(),
    faults: readinessFaults(probe),
    workspaces: sortWorstFirst(readWorkspaces(context, probe)),
    alerts: open.slice(0, SHOWN_ALERTS).map((alert) => {
      const { notification } = momentsOf(alert).now;
      return { ...alert, summary: notification.summary, isOfMonthEnd: isOfMonthEnd(notification) };
    }),
    hiddenAlerts: Math.max(0, open.length - SHOWN_ALERTS),
    outbox: probe.outbox(),
    outlets: measured.outlets(),
    queues,
    storage: measured.storage(),
  };
}
