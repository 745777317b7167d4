import {
  type Named,
  type RangeCounts,
  type Scorecard,
  type Share,
  sumScorecards,
} from '../../test/long/alert-year/score/scorecard.ts';
import type { TenantKind } from '../../test/long/alert-year/score/truth.ts';
import { medianOf } from './rivals.ts';

type Row = readonly [name: string, target: string, cell: (card: Scorecard) => string];

const KINDS: readonly TenantKind[] = ['steady', 'intermittent', 'returning', 'newcomer'];

const ROWS: readonly Row[] = [
  ['jumps of at least 0.5% notified', 'all', ({ requiredJumps }) => share(requiredJumps)],
  ['… before they happened', '', ({ requiredBefore }) => share(requiredBefore)],
  ['new spend of at least 0.5% notified', 'all', ({ materialNewSpend }) => share(materialNewSpend)],
  ['all jumps notified', '', ({ jumps }) => share(jumps)],
  ['… before they happened', '', ({ before }) => share(before)],
  ['lead before it happened, median days', '>= 10', ({ leadDays }) => days(leadDays)],
  ["intermittent tenants' usual jumps notified", 'few', ({ jumpsWithinHabit }) => share(jumpsWithinHabit)],
  ['`likely` that came true', '>= 85%', ({ likely }) => share(likely)],
  ...KINDS.map((kind): Row => [`… ${kind}`, '', ({ likelyByKind }) => share(likelyByKind[kind])]),
  ['tenants notified in shared causes, true', '', ({ duringCauses }) => share(duringCauses)],
  ['workspace jumps sent, true', '', ({ workspaceJumps }) => share(workspaceJumps)],
  ['tenants sent beside a workspace jump', 'few', ({ commonSent }) => share(commonSent)],
  ...(['likely', 'happened'] as const).flatMap((level): Row[] => [
    [`\`${level}\` ranges that held (low, high)`, '75-90%', (card) => ranges(rangeSum(card, level, KINDS))],
    ...KINDS.map((kind): Row => [`… ${kind}`, '', (card) => ranges(rangeSum(card, level, [kind]))]),
  ]),
  ['messages a day and 100 tenants', '<= 0.25', (card) => (card.messages / card.tenantDays).toFixed(3)],
  ['most messages about one intermittent tenant', '<= 6', ({ mostIntermittent }) => named(mostIntermittent)],
  ['most messages about any tenant', '', ({ mostMessages }) => named(mostMessages)],
  ['critical messages that were immaterial', '<= 10%', ({ immaterialCritical }) => share(immaterialCritical)],
  ['material rises not sent as critical', 'none', ({ notCritical }) => share(notCritical)],
  ['open alerts at the end', '<= 15', ({ openAlerts }) => (openAlerts === null ? '-' : String(openAlerts))],
];

/** The program's results: a row for each measure, a column for each seed, and the sum (the most, for counts of one year). */
export function programTable(seeds: readonly number[], cards: readonly Scorecard[]): string {
  const columns = [...cards, sumScorecards(cards)];
  const head = ['', 'target', ...seeds.map((seed) => `seed ${seed}`), 'all'];
  return markdown([head, ...ROWS.map(([name, target, cell]) => [name, target, ...columns.map(cell)])]);
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

function rangeSum({ ranges: all }: Scorecard, level: 'likely' | 'happened', kinds: readonly TenantKind[]): RangeCounts {
  const sum = { held: 0, below: 0, above: 0 };
  for (const kind of kinds) {
    const own = all[`${level} ${kind}`];
    sum.held += own?.held ?? 0;
    sum.below += own?.below ?? 0;
    sum.above += own?.above ?? 0;
  }
  return sum;
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
  return leads.length === 0 ? '-' : medianOf(leads).toFixed(1);
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
