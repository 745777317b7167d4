import { dayBars } from '../../alerts/notify/day-bars.ts';
import { alertFacts } from '../../alerts/notify/facts.ts';
import { nextCommands } from '../../alerts/notify/next-commands.ts';
import type { AlertMoments } from '../../alerts/queries/alert-moments.ts';
import type { AlertRecord } from '../../alerts/queries/alert-record.ts';
import type { Facts } from '../../alerts/wording/notification.ts';
import { formatMinute } from '../../core/date-time.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import { wrapText } from '../../reports/formats/wrap.ts';

/** Of the facts, those that the sentence or the table of figures has said already. */
const SAID: readonly string[] = ['Tenant', 'Name', 'Workspace', 'Credits', 'Requests', 'Forecast'];
/** A name that the sentence cuts is shown whole. */
const NAME_CHARACTERS = 80;
const LABEL_WIDTH = 12;

/** Who, how bad, since when, and the figures then and now: the head of every screen of one alert. */
export function alertHead({ alert }: AlertRecord, moments: AlertMoments, options: TableOptions): string[] {
  const { now } = moments;
  const since = alert.first_fired_at === null ? '' : ` since ${formatMinute(alert.first_fired_at)} UTC`;
  return [
    `${alert.alert_id}  ${alert.severity}  ${alert.state}${alert.state === 'firing' ? since : ''}`,
    ...(alert.state === 'firing' && alert.muted_because !== null ? [`not told, because ${alert.muted_because}`] : []),
    ...wrapped(now.notification.summary, '', options),
    ...longNames(now.notification, options),
    ...(now.notification.credits === null ? [] : ['', figuresTable(moments, options)]),
  ];
}

/** What stands behind an alert, as of now. */
export function alertFactLines({ now }: AlertMoments, options: TableOptions): string[] {
  const facts = alertFacts(now.notification).filter(({ label }) => !SAID.includes(label));
  return facts.flatMap(({ label, value }) => wrapped(inertText(value), label, options));
}

/** Both months by day, on one scale. */
export function alertChart({ now: { notification } }: AlertMoments): string[] {
  const { period, evidence } = notification;
  if (period === null || evidence.course === null) return [];
  const { rows, highest } = dayBars(period, evidence.course);
  return [
    ...rows.map(
      ({ period, bars, total }) => `${period.padEnd(LABEL_WIDTH)}${bars.padEnd(31)}  ${formatInteger(total)}`,
    ),
    `${''.padEnd(LABEL_WIDTH)}credits a day, the highest ${formatInteger(Math.round(highest))}`,
  ];
}

/** Commands to type next; one that does not fit goes on in a second line, as a shell takes it. */
export function nextLines({ now: { notification } }: AlertMoments, nowMs: number, { width }: TableOptions): string[] {
  const commands = nextCommands(notification, nowMs);
  if (commands.length === 0) return [];
  const lines = commands.flatMap((command) => {
    if (width === undefined || command.length + 2 <= width) return [`  ${command}`];
    const [head = '', ...options] = command.split(' --');
    return [`  ${head} --${options[0]} \\`, `    --${options.slice(1).join(' --')}`];
  });
  return ['Next', ...lines];
}

interface FigureRow {
  name: string;
  told: bigint | null;
  now: bigint | null;
}

/** The same figures of both moments; of one where they are the same, or nobody was told. */
function figuresTable({ told, now }: AlertMoments, options: TableOptions): string {
  const before = figureRows(now.notification).map(({ name, value }) => ({ name, now: value }));
  const earlier = new Map(
    told === null ? [] : figureRows(told.notification).map(({ name, value }) => [name, value] as const),
  );
  const rows = before.map((row): FigureRow => ({ ...row, told: earlier.get(row.name) ?? null }));
  const same = told === null || rows.every((row) => row.told === row.now);
  return renderTable<FigureRow>(
    rows,
    [
      { name: 'name', header: '' },
      ...(same || told === null
        ? []
        : [{ name: 'told' as const, header: `Told ${formatMinute(told.at)}`, align: 'right' as const }]),
      { name: 'now', header: `Now, ${formatMinute(now.at)} UTC`, align: 'right' },
    ],
    options,
  );
}

function figureRows({ period, previous_period, credits, requests, threshold, evidence }: Facts) {
  const before = period === previous_period ? 'before' : (previous_period ?? 'before');
  const rows: { name: string; value: bigint | null }[] = [
    { name: `Credits ${period}`, value: credits?.current ?? null },
    { name: `Credits ${before}`, value: credits?.previous ?? null },
    { name: `Requests ${period}`, value: requests?.current ?? null },
    { name: `Requests ${before}`, value: requests?.previous ?? null },
    { name: 'Forecast', value: evidence.projection?.credits ?? null },
    { name: 'Limit', value: threshold },
  ];
  return rows.filter(({ value }) => value !== null);
}

function longNames({ tenant_id, tenant_name, workspace_id }: Facts, options: TableOptions): string[] {
  return [
    ['Tenant', tenant_id],
    ['Name', tenant_name],
    ['Workspace', workspace_id],
  ].flatMap(([label, name]) =>
    name === null || name === undefined || Array.from(name).length <= NAME_CHARACTERS
      ? []
      : wrapped(inertText(name), label ?? '', options),
  );
}

/** A label and its words, in lines that fit the terminal; further lines stand below the words. */
function wrapped(words: string, label: string, { width }: TableOptions): string[] {
  const indent = label === '' ? 0 : LABEL_WIDTH;
  const lines = width === undefined ? [words] : wrapText(words, Math.max(20, width - indent));
  return lines.map((line, index) => `${(index === 0 ? label : '').padEnd(indent)}${line}`);
}
