import { medianOf } from '../../test/long/alert-year/score/median.ts';
import {
  type Named,
  type RangeCounts,
  rangesOf,
  type Scorecard,
  type Share,
  sumScorecards,
} from '../../test/long/alert-year/score/scorecard.ts';
import { missedTargets } from '../../test/long/alert-year/score/targets.ts';
import { TENANT_KINDS } from '../../test/long/alert-year/score/truth.ts';

type Row = readonly [name: string, target: string, cell: (card: Scorecard) => string];

const ROWS: readonly Row[] = [
  ['jumps of at least 0.5% notified', 'all', ({ requiredJumps }) => share(requiredJumps)],
  ['… before they happened', '', ({ requiredBefore }) => share(requiredBefore)],
  ['new spend of at least 0.5% notified', 'all', ({ materialNewSpend }) => share(materialNewSpend)],
  ['all jumps notified', '', ({ jumps }) => share(jumps)],
  ['… before they happened', '', ({ before }) => share(before)],
  ['lead before it happened, median days', '>= 10', ({ leadDays }) => days(leadDays)],
  ['usual jumps of tenants with habits notified', 'few', ({ jumpsWithinHabit }) => share(jumpsWithinHabit)],
  ['`likely` that came true', '>= 85%', ({ likely }) => share(likely)],
  ...TENANT_KINDS.map((kind): Row => [`… ${kind}`, '', ({ likelyByKind }) => share(likelyByKind[kind])]),
  ['tenants notified in shared causes, true', '', ({ duringCauses }) => share(duringCauses)],
  ['workspace jumps sent, true', '', ({ workspaceJumps }) => share(workspaceJumps)],
  ['tenants sent beside a workspace jump', 'few', ({ commonSent }) => share(commonSent)],
  ...(['likely', 'happened'] as const).flatMap((level): Row[] => [
    [`\`${level}\` ranges that held (low, high)`, '75-90%', (card) => ranges(rangesOf(card, level))],
    ...TENANT_KINDS.map((kind): Row => [`… ${kind}`, '', (card) => ranges(rangesOf(card, level, [kind]))]),
  ]),
  ['messages a day and 100 tenants', '<= 0.25', (card) => (card.messages / card.tenantDays).toFixed(3)],
  ['messages that name a free tenant', 'few', ({ freeMessages }) => String(freeMessages)],
  ['most messages about one intermittent tenant', '<= 6', ({ mostIntermittent }) => named(mostIntermittent)],
  ['most messages about any tenant', '', ({ mostMessages }) => named(mostMessages)],
  ['critical messages that were immaterial', '<= 10%', ({ immaterialCritical }) => share(immaterialCritical)],
  ['material rises not sent as critical', 'none', ({ notCritical }) => share(notCritical)],
  ['open alerts at the end', '<= 15', ({ openAlerts }) => (openAlerts === null ? '-' : String(openAlerts))],
];

/** The program's results: a row for each magnitude, a column for each seed, and the sum (the most, for counts of one year). */
export function programTable(seeds: readonly number[], cards: readonly Scorecard[]): string {
  const columns = [...cards, sumScorecards(cards)];
  const head = ['', 'target', ...seeds.map((seed) => `seed ${seed}`), 'all'];
  return markdown([head, ...ROWS.map(([name, target, cell]) => [name, target, ...columns.map(cell)])]);
}

/** The targets that all seeds together miss, one line each. */
export function missedLines(cards: readonly Scorecard[]): string {
  const missed = missedTargets(sumScorecards(cards));
  return missed.length === 0
    ? 'All targets are met.'
    : ['Targets missed:', ...missed.map((each) => `- ${each}`)].join('\n');
}

/** Methods side by side, years added up. Only what all of them have: rivals know no ranges and no severity. */
export function rivalTable(cards: ReadonlyMap<string, readonly Scorecard[]>): string {
  const head = [
    '',
    'jumps of 0.5% notified',
    'before',
    'lead, days',
    'sent ahead, true',
    'in shared causes, true',
    'messages a day and 100 tenants',
    'most, one intermittent tenant',
  ];
  const rows = [...cards].map(([name, years]) => {
    const sum = sumScorecards(years);
    return [
      name,
      share(sum.requiredJumps),
      share(sum.requiredBefore),
      days(sum.leadDays),
      share(sum.likely),
      share(sum.duringCauses),
      (sum.messages / sum.tenantDays).toFixed(3),
      String(sum.mostIntermittent.messages),
    ];
  });
  return markdown([head, ...rows]);
}

/** Held of all; then how many forecasts were too low and too high. */
function ranges({ held, below, above }: RangeCounts): string {
  const of = held + below + above;
  return of === 0 ? '-' : `${share({ hits: held, of })} (${above}, ${below})`;
}

function share(counts: Share | undefined): string {
  if (counts === undefined || counts.of === 0) return '-';
  return `${counts.hits}/${counts.of} ${Math.round((100 * counts.hits) / counts.of)}%`;
}

function days(leads: readonly number[]): string {
  return medianOf(leads)?.toFixed(1) ?? '-';
}

function named({ tenant, messages }: Named): string {
  return tenant === '' ? '0' : `${messages} ${tenant}`;
}

/** A Markdown table whose columns line up in a terminal. */
function markdown([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0), 3));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
