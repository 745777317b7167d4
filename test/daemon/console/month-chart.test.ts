import { renderToString } from 'preact-render-to-string';
import { expect, it } from 'vitest';
import { MonthChart, type MonthChartData } from '../../../src/daemon/console/shell/month-chart.tsx';

const DATA: MonthChartData = {
  days: 10,
  currentName: 'June 2026',
  previousName: 'May 2026',
  current: [100n, null, 300n, 400n],
  previous: [10n, 20n, 30n, 40n, 50n, 60n, 70n, 80n, 90n, 100n, null, 120n],
  elapsed: 0.35,
  limit: 800n,
  forecast: { likely: 900n, low: 700n, high: 1000n },
  marks: [{ day: 2, label: 'notified' }],
};

/** Returns the points of a line as pairs of day and value, read back from the drawing. */
function pointsOf(svg: string, line: string): [day: number, value: number][] {
  const [, points = ''] = new RegExp(`class="${line}" points="([^"]*)"`).exec(svg) ?? [];
  const [left, right, zero, thousand] = [52, 746, 274, 14];
  return points.split(' ').map((pair) => {
    const [x = 0, y = 0] = pair.split(',').map(Number);
    return [Math.round(((x - left) / (right - left)) * 100) / 10, Math.round(((zero - y) / (zero - thousand)) * 1000)];
  });
}

it('draws each line where its figures are', () => {
  const svg = renderToString(MonthChart({ data: DATA, label: 'chart' }));
  expect(pointsOf(svg, 'now')).toEqual([
    [0, 0],
    [1, 100],
    [3, 300],
    [3.5, 400],
  ]);
  expect(pointsOf(svg, 'before').at(-1)).toEqual([10, 100]);
  expect(pointsOf(svg, 'likely')).toEqual([
    [3.5, 400],
    [10, 900],
  ]);
  expect(pointsOf(svg, 'band')).toEqual([
    [3.5, 400],
    [10, 1000],
    [10, 700],
  ]);
  expect(svg).toContain('Limit 800');
  expect(svg).toContain('<title>notified</title>');
});

it('draws months without readings, without usage, and below zero', () => {
  const nothing = { ...DATA, current: [], previous: [], limit: null, forecast: null, marks: [] };
  for (const data of [nothing, { ...nothing, current: [0n, 0n] }, { ...nothing, current: [-50n, -100n, 5n] }]) {
    expect(renderToString(MonthChart({ data, label: 'chart' }))).not.toMatch(/NaN|Infinity/);
  }
});
