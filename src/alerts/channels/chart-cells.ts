import { addPeriods } from '../../core/period.ts';
import { ratesOfDays } from '../notify/course.ts';
import { grouped, monthName } from '../wording/names.ts';
import type { Facts } from '../wording/notification.ts';

const HEIGHT = 60;
const DAYS = 31;
const LABEL = 'font-size:12px;color:#666;padding:8px 0 2px';
const CELL = 'padding:0 1px 0 0;vertical-align:bottom';

/**
 * The credits of each day of both months as cells of a table, which mail programs show that show no picture; null without days.
 * Nothing in it comes from outside but figures.
 */
export function chartCells({ period, evidence, created_at }: Facts): string | null {
  const { course } = evidence;
  if (period === null || course === null) return null;
  const months = [
    { name: monthName(addPeriods(period, -1), created_at), rates: ratesOfDays(course.days.previous), colour: '#999' },
    { name: monthName(period, created_at), rates: ratesOfDays(course.days.current), colour: '#06c' },
  ].filter(({ rates }) => rates.length > 0);
  const most = Math.max(...months.flatMap(({ rates }) => rates.map((rate) => rate ?? 0)), 0);
  if (most <= 0) return null;
  const rows = months.map(({ name, rates, colour }) => {
    const cells = Array.from({ length: DAYS }, (_, day) => {
      const height = Math.round((Math.max(0, rates[day] ?? 0) / most) * HEIGHT);
      const bar = height === 0 ? '' : `<div style="height:${height}px;background:${colour};font-size:0">&nbsp;</div>`;
      return `<td style="${CELL}" width="3%">${bar}</td>`;
    });
    const label = `${name}, credits a day (the highest bar is ${grouped(Math.round(most))})`;
    return `<tr><td colspan="${DAYS}" style="${LABEL}">${label}</td></tr><tr style="height:${HEIGHT}px">${cells.join('')}</tr>`;
  });
  return `<table role="presentation" cellspacing="0" style="width:100%;border-collapse:collapse;table-layout:fixed">${rows.join('\n')}</table>`;
}
