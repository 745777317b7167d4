import type { Measures, RiseDays, Share } from './measure.ts';
import type { OracleReport } from './oracle/findings.ts';

/** A year as its process prints it. */
export type Year = Measures & { oracle: OracleReport };

/** The years side by side, a row a measure. */
export function renderTable(years: readonly Year[]): string {
  const rows: [string, (year: Year) => string][] = [
    ['tenants, runs', ({ tenants, runs }) => `${tenants}, ${runs}`],
    ['pace told that came true, without bulges', ({ pace }) => shareWords(pace)],
    ['the same with bulges', ({ paceWithBulges }) => shareWords(paceWithBulges)],
    ['told before certain, of jumps that came true', ({ early }) => shareWords(early)],
    ['lead before certain, median days', ({ leadDays }) => numberWords(leadDays)],
    ['likely: ranges that held the end', ({ foretold }) => shareWords(foretold.likely.held)],
    ['likely: rest said beside the true one, median', ({ foretold }) => ratioWords(foretold.likely.restRatio)],
    ['happened: ranges that held the end', ({ foretold }) => shareWords(foretold.happened.held)],
    ['happened: rest said beside the true one, median', ({ foretold }) => ratioWords(foretold.happened.restRatio)],
    ['planted told at all', ({ planted }) => shareWords(planted)],
    ['planted told when promised', ({ plantedByPromise }) => shareWords(plantedByPromise)],
    ['3x from day 10 to 18: days, median', ({ riseDays }) => numberWords(riseDays.median)],
    ['3x from day 10 to 18: worst, number', ({ riseDays }) => worstWords(riseDays)],
    ['3x from day 8, 9, 19, 20, to 1.2 T: worst, number', ({ riseDaysBeside }) => worstWords(riseDaysBeside)],
    ['3x from these days, barely to T: worst, number', ({ riseDaysBarely }) => worstWords(riseDaysBarely)],
    ['told at once a day and 100 tenants', ({ notificationsADay }) => notificationsADay.toFixed(2)],
    ['the same outside the months of bulges', ({ calmADay }) => calmADay.toFixed(2)],
    ['the same, worst day there', ({ worstDay }) => worstDay.toFixed(1)],
    ['bulge: told until its second day', ({ bulge }) => String(bulge)],
    ['members that run away, told in a day', ({ runaways }) => shareWords(runaways)],
    ['documented cases', ({ oracle }) => String(Object.values(oracle.documented).reduce((sum, n) => sum + n, 0))],
    ['documented cases missed', ({ oracle }) => String(oracle.missed.length)],
    ['undocumented alerts', ({ oracle }) => String(oracle.undocumented.length)],
    ['duplicate ids', ({ duplicateIds }) => String(duplicateIds)],
    ['seconds', ({ seconds }) => seconds.toFixed(0)],
  ];
  const head = ['', ...years.map(({ seed }) => `seed ${seed}`)];
  const lines = [head, ...rows.map(([name, words]) => [name, ...years.map(words)])];
  const width = Math.max(...lines.map(([name = '']) => name.length));
  const table = lines.map(([name = '', ...cells]) => [name.padEnd(width), ...cells.map((cell) => cell.padStart(14))]);
  const missing = years.flatMap(({ seed, missing: list, oracle }) =>
    [
      ...list,
      ...oracle.missed.map((each) => `missed: ${each}`),
      ...oracle.undocumented.map((each) => `undocumented: ${each}`),
    ].map((each) => `seed ${seed}: ${each}`),
  );
  return [...table.map((cells) => cells.join(' ')), ...missing].join('\n');
}

function shareWords({ hits, of }: Share): string {
  return `${hits}/${of} ${of === 0 ? '' : `${((hits / of) * 100).toFixed(0)}%`}`;
}

function worstWords({ worst, count }: RiseDays): string {
  return `${numberWords(worst)}, ${count}`;
}

function numberWords(value: number | null): string {
  return value === null ? '-' : value.toFixed(1);
}

function ratioWords(ratio: number | null): string {
  return ratio === null ? '-' : ratio.toFixed(2);
}
