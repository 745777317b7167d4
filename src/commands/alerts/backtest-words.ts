import type { ShiftedAlert } from '../../alerts/backtest/compare.ts';
import {
  type AlertOutline,
  type LeadTime,
  medianOf,
  type RuleCount,
  type Sides,
  type TenantNoise,
} from '../../alerts/backtest/compare.ts';
import { precisionPercent, recallPercent } from '../../alerts/backtest/labels.ts';
import type { AlertRuleSettings, AlertSettings } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { formatMinute } from '../../core/date-time.ts';
import { counted } from '../../core/text/counted.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { TableColumn } from '../../reports/formats/columns.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import type { BacktestAnswer } from './backtest-json.ts';

/** Rows of a list of alerts; `--json` has all. */
const MOST_LISTED = 20;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The answer for people: settings, counts, lead times, and the alerts that make the difference. */
export function backtestWords(answer: BacktestAnswer, options: TableOptions): string {
  const { history, comparison, settings } = answer;
  const { only, shifted } = comparison;
  const sections = [
    historyWords(history),
    renderTable(settingRows(settings), SIDE_BY_SIDE, options),
    comparison.periods.length === 0
      ? 'neither gives any alert'
      : renderTable(countRows(answer), COUNT_COLUMNS, options),
    renderTable(measureRows(answer), SIDE_BY_SIDE, options),
    ...noisiest(comparison.tenants, options, 'both'),
    ...labelSections(answer, options),
    list("only with today's settings", only.today, (rows) => renderTable(rows.map(outlineRow), ONLY, options)),
    list('only with the proposed settings', only.proposed, (rows) => renderTable(rows.map(outlineRow), ONLY, options)),
    list(`with both, but not alike${shiftWords(shifted)}`, shifted, (rows) =>
      renderTable(rows.map(shiftedRow), SHIFTED, options),
    ),
  ];
  return sections.join('\n\n');
}

interface SideRow {
  name: string;
  today: string;
  proposed: string;
}

const SIDE_BY_SIDE: TableColumn<SideRow>[] = [
  { name: 'name', header: '' },
  { name: 'today', header: 'Today' },
  { name: 'proposed', header: 'Proposed' },
];

/** Which history was replayed, and how much of it. */
export function historyWords({ workspaceId, runs, firstRunAt, lastRunAt }: BacktestAnswer['history']): string {
  const [from, to] = [firstRunAt.slice(0, 10), lastRunAt.slice(0, 10)];
  return `${inertText(workspaceId)}: ${formatInteger(runs)} runs replayed, ${from} to ${to}`;
}

function settingRows({ today, proposed }: Sides<AlertSettings>): SideRow[] {
  const matches = [...new Set([...today.tenants, ...proposed.tenants].map(({ match }) => match))];
  const rulesOf = (side: AlertSettings, match: string) => side.tenants.find((tenant) => tenant.match === match)?.rules;
  return [
    { name: 'settings', today: ruleWords(today), proposed: ruleWords(proposed) },
    ...matches.map((match) => ({
      name: `tenants ${match}`,
      today: ruleWords(rulesOf(today, match)),
      proposed: ruleWords(rulesOf(proposed, match)),
    })),
  ];
}

export function ruleWords(rules: AlertRuleSettings | undefined): string {
  if (rules === undefined) return 'as the others';
  const { ratio, minCredits, minIncrease, perDay, baseline, paceMinFraction } = rules;
  const compared = typeof baseline === 'object' ? `median_of ${baseline.medianOf}` : baseline;
  const days = perDay ? ', per_day' : '';
  const amount = minIncrease === null ? '' : `, min_increase ${formatInteger(minIncrease)}`;
  return `ratio ${ratio}, min_credits ${formatInteger(minCredits)}${amount}, ${compared}${days}, pace from ${paceMinFraction}`;
}

interface CountRow {
  period: string;
  rule: string;
  alerts: number;
  proposedAlerts: number;
  notifications: number;
  proposedNotifications: number;
}

const COUNT_COLUMNS: TableColumn<CountRow>[] = [
  { name: 'period', header: 'Period' },
  { name: 'rule', header: 'Rule' },
  { name: 'alerts', header: 'Alerts today' },
  { name: 'proposedAlerts', header: 'Proposed' },
  { name: 'notifications', header: 'Notified today' },
  { name: 'proposedNotifications', header: 'Proposed' },
];

function countRows({ comparison }: BacktestAnswer): CountRow[] {
  const toRow = (period: string, rule: string, { today, proposed }: RuleCount['counts']): CountRow => ({
    ...{ period, rule, alerts: today.alerts, proposedAlerts: proposed.alerts },
    ...{ notifications: today.notifications, proposedNotifications: proposed.notifications },
  });
  return [
    ...comparison.periods.flatMap(({ period, rules }) => rules.map(({ rule, counts }) => toRow(period, rule, counts))),
    ...comparison.rules.map(({ rule, counts }) => toRow('all', rule, counts)),
    toRow('all', 'all', comparison.total),
  ];
}

/** Rules that say nothing of themselves are left out. */
function measureRows({ comparison }: BacktestAnswer): SideRow[] {
  const concerned = (side: keyof Sides<number>) =>
    formatInteger(comparison.tenants.filter(({ alerts }) => alerts[side] > 0).length);
  return [
    { name: 'tenants concerned', today: concerned('today'), proposed: concerned('proposed') },
    ...comparison.leads
      .filter(({ lead }) => lead.today.alerts + lead.proposed.alerts > 0)
      .map(({ rule, level, lead }) => ({
        name: `${rule} ${level} before settled`,
        today: leadWords(lead.today),
        proposed: leadWords(lead.proposed),
      })),
    ...comparison.paces
      .filter(({ outcome }) => outcome.today.told + outcome.proposed.told > 0)
      .map(({ rule, outcome: { today, proposed } }) => ({
        name: `${rule} likely that never came true`,
        today: `${today.neverTrue} of ${today.told}`,
        proposed: `${proposed.neverTrue} of ${proposed.told}`,
      })),
  ];
}

/** Tenants with the most notifications by today's settings. */
const MOST_NOISY = 5;

interface NoiseRow {
  tenant: string;
  alerts: number;
  notifications: number;
  proposed: number;
}

const NOISE_COLUMNS: TableColumn<NoiseRow>[] = [
  { name: 'tenant', header: 'Noisiest tenants' },
  { name: 'alerts', header: 'Alerts today' },
  { name: 'notifications', header: 'Notified today' },
];

const PROPOSED_NOISE: TableColumn<NoiseRow> = { name: 'proposed', header: 'Proposed' };

/** A table of those with the most notifications, none where there are none. */
export function noisiest(tenants: readonly TenantNoise[], options: TableOptions, sides: 'today' | 'both'): string[] {
  const columns = sides === 'both' ? [...NOISE_COLUMNS, PROPOSED_NOISE] : NOISE_COLUMNS;
  const rows = tenants.slice(0, MOST_NOISY).map(({ tenantId, alerts, notifications }): NoiseRow => {
    const { today, proposed } = notifications;
    return { tenant: tenantId, alerts: alerts.today, notifications: today, proposed };
  });
  return rows.length === 0 ? [] : [renderTable(rows, columns, options)];
}

/** Of what people have labelled with `alerts feedback`; nothing without labels. */
function labelSections({ labelled }: BacktestAnswer, options: TableOptions): string[] {
  if (labelled.length === 0) return [];
  const rows = labelled.flatMap(({ rule, labelled: all, told }): SideRow[] => {
    const right = (side: keyof Sides<number>) =>
      shareWords(told[side].real, told[side].real + told[side].false, precisionPercent(told[side]));
    const found = (side: keyof Sides<number>) => shareWords(told[side].real, all.real, recallPercent(all, told[side]));
    return [
      { name: `${rule} told that was real`, today: right('today'), proposed: right('proposed') },
      { name: `${rule} labelled real and told`, today: found('today'), proposed: found('proposed') },
    ];
  });
  const lost = labelled.reduce((sum, rule) => sum + rule.lost, 0);
  const verdict =
    lost > 0
      ? `the proposed settings lose ${counted(lost, 'alert')} labelled real`
      : 'the proposed settings lose no alert labelled real';
  return [`${renderTable(rows, SIDE_BY_SIDE, options)}\n${verdict}`];
}

function shareWords(part: number, all: number, percent: number | null): string {
  return percent === null ? 'none' : `${formatInteger(part)} of ${formatInteger(all)}, ${percent}%`;
}

function leadWords({ alerts, medianMs, shortestMs, longestMs }: LeadTime): string {
  if (medianMs === null || shortestMs === null || longestMs === null) return 'none';
  const range = shortestMs === longestMs ? '' : ` (${span(shortestMs)} to ${span(longestMs)})`;
  return `median ${span(medianMs)}${range}, ${counted(alerts, 'alert')}`;
}

/** Hours up to two days, else days with one decimal. */
function span(durationMs: number): string {
  return durationMs < 2 * DAY_MS ? `${Math.round(durationMs / HOUR_MS)} h` : `${(durationMs / DAY_MS).toFixed(1)} days`;
}

function list<Alert>(title: string, alerts: readonly Alert[], table: (alerts: readonly Alert[]) => string): string {
  const head = `${counted(alerts.length, 'alert')} ${title}`;
  if (alerts.length === 0) return head;
  const more = alerts.length - MOST_LISTED;
  const rest = more > 0 ? `\n... and ${formatInteger(more)} more; --json lists all` : '';
  return `${head}\n${table(alerts.slice(0, MOST_LISTED))}${rest}`;
}

interface OutlineRow {
  rule: string;
  tenant: string;
  period: string;
  first: string;
}

const ONLY: TableColumn<OutlineRow>[] = [
  { name: 'rule', header: 'Rule' },
  { name: 'tenant', header: 'Tenant' },
  { name: 'period', header: 'Period' },
  { name: 'first', header: 'First fired' },
];

function outlineRow({ rule, level, tenantId, period, firstMs }: AlertOutline): OutlineRow {
  return { rule: `${rule} ${level}`, tenant: tenantId ?? '', period, first: formatMinute(isoTime(firstMs)) };
}

interface ShiftedRow {
  rule: string;
  tenant: string;
  period: string;
  today: string;
  proposed: string;
  later: string;
}

const SHIFTED: TableColumn<ShiftedRow>[] = [
  { name: 'rule', header: 'Rule' },
  { name: 'tenant', header: 'Tenant' },
  { name: 'period', header: 'Period' },
  { name: 'today', header: 'Today' },
  { name: 'proposed', header: 'Proposed' },
  { name: 'later', header: 'Difference' },
];

function shiftedRow({ rule, tenantId, period, sides, laterMs }: ShiftedAlert): ShiftedRow {
  const side = ({ level, firstMs }: { level: string; firstMs: number }) =>
    `${formatMinute(isoTime(firstMs))}, up to ${level}`;
  const later = laterMs === 0 ? '' : `${span(Math.abs(laterMs))} ${laterMs > 0 ? 'later' : 'earlier'}`;
  return { rule, tenant: tenantId ?? '', period, today: side(sides.today), proposed: side(sides.proposed), later };
}

function shiftWords(shifted: readonly ShiftedAlert[]): string {
  const laterMs = shifted.map((alert) => alert.laterMs).filter((ms) => ms > 0);
  const earlier = shifted.filter((alert) => alert.laterMs < 0).length;
  const median = medianOf(laterMs.sort((a, b) => a - b));
  const words = [
    ...(median === null ? [] : [`${formatInteger(laterMs.length)} later, by ${span(median)} in the median`]),
    ...(earlier === 0 ? [] : [`${formatInteger(earlier)} earlier`]),
  ];
  return words.length === 0 ? '' : `: ${words.join('; ')}`;
}
