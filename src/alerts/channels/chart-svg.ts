import { addPeriods } from '../../core/period.ts';
import type { Told } from '../notify/facts.ts';

const WIDTH = 560;
const HEIGHT = 200;
/** Room for the figures on the left, and for the days below. */
const LEFT = 90;
const BOTTOM = 24;
const TOP = 12;
const RIGHT = 12;
const DAYS = 31;

/**
 * The credits of both months as they added up, with the threshold, as an SVG picture; null without days. Nothing in it
 * comes from outside but figures.
 */
export function chartSvg({ period, threshold, evidence }: Told): string | null {
  const { course = null } = evidence;
  if (period === null || course === null) return null;
  const { previous, current } = course.days;
  const figures = [...previous, ...current, threshold].flatMap((value) => (value === null ? [] : [Number(value)]));
  const most = Math.max(1, ...figures);
  const x = (day: number) => LEFT + ((day - 1) / (DAYS - 1)) * (WIDTH - LEFT - RIGHT);
  const y = (credits: number) => TOP + (1 - credits / most) * (HEIGHT - TOP - BOTTOM);
  const line = (days: readonly (bigint | null)[], style: string) => {
    const points = days.flatMap((credits, index) =>
      credits === null ? [] : [`${x(index + 1).toFixed(1)},${y(Number(credits)).toFixed(1)}`],
    );
    return `<polyline points="${points.join(' ')}" fill="none" ${style}/>`;
  };
  const label = (at: { x: number; y: number }, anchor: 'start' | 'middle' | 'end', words: string, colour = '#555') =>
    `<text x="${at.x.toFixed(1)}" y="${at.y.toFixed(1)}" text-anchor="${anchor}" fill="${colour}">${words}</text>`;
  const before = addPeriods(period, -1);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" style="max-width:100%;height:auto" font-family="sans-serif" font-size="11" role="img" aria-label="Credits of ${before} and ${period} by day">`,
    `<path d="M${LEFT},${TOP} V${HEIGHT - BOTTOM} H${WIDTH - RIGHT}" fill="none" stroke="#999"/>`,
    label({ x: LEFT - 6, y: y(most) + 4 }, 'end', most.toLocaleString('en-US')),
    label({ x: LEFT - 6, y: y(0) + 4 }, 'end', '0'),
    ...[1, 10, 20, 31].map((day) => label({ x: x(day), y: HEIGHT - 8 }, 'middle', String(day))),
    ...(threshold === null
      ? []
      : [
          `<path d="M${LEFT},${y(Number(threshold)).toFixed(1)} H${WIDTH - RIGHT}" stroke="#c60" stroke-dasharray="4 3"/>`,
          label({ x: LEFT + 6, y: y(Number(threshold)) - 4 }, 'start', 'threshold', '#c60'),
        ]),
    line(previous, 'stroke="#999" stroke-width="2"'),
    line(current, 'stroke="#06c" stroke-width="2.5"'),
    label({ x: LEFT + 90, y: TOP + 4 }, 'start', before, '#777'),
    label({ x: LEFT + 150, y: TOP + 4 }, 'start', period, '#06c'),
    '</svg>',
  ].join('');
}
