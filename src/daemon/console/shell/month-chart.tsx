import { formatInteger } from '../../../reports/formats/columns.ts';
import { compactNumber } from './formats.ts';

/**
 * The data of a chart that compares a month with another one. The values are the credits used since the month began, at
 * the end of each day.
 */
export interface MonthChartData {
  /** The number of days of the month. */
  days: number;
  /** The names of the series `current` and `previous`. */
  currentName: string;
  previousName: string;
  /**
   * The credits used by the end of each day; null for a day without a reading. The last reading may be during its day.
   */
  current: readonly (bigint | null)[];
  previous: readonly (bigint | null)[];
  /** The share of the month that has passed at the last reading; 1 once it is over. */
  elapsed: number;
  /** The number of credits at which the alert fires; null if the chart shows no limit. */
  limit: bigint | null;
  /** The forecast of the credits at the end of the month; null for a month that is over. */
  forecast: { likely: bigint; low: bigint | null; high: bigint | null } | null;
  /** Times at which somebody was notified, in days since the month began. */
  marks: readonly { day: number; label: string }[];
}

const WIDTH = 760;
const HEIGHT = 300;
const LEFT = 52;
const RIGHT = 14;
const TOP = 14;
const BOTTOM = 26;
const GRID_LINES = 4;
const DAYS_BETWEEN_LABELS = 5;

interface Point {
  day: number;
  value: number;
}

/** Draws both months, each from its first day, with the limit, the forecast and the notifications. */
export function MonthChart({ data, label }: { data: MonthChartData; label: string }) {
  const current = pointsOf(data.current, data.elapsed * data.days);
  const previous = untilDay(pointsOf(data.previous, null), data.days);
  const limit = data.limit === null ? null : Number(data.limit);
  const ends = data.forecast === null ? [] : [data.forecast.likely, data.forecast.low, data.forecast.high].map(Number);
  const values = [...current, ...previous].map(({ value }) => value);
  const step = niceStep(Math.max(...values, ...ends, limit ?? 0, 1) - Math.min(...values, 0));
  const highest = Math.ceil(Math.max(...values, ...ends, limit ?? 0, 1) / step) * step;
  const lowest = Math.floor(Math.min(...values, 0) / step) * step;
  const x = (day: number): number => LEFT + (day / data.days) * (WIDTH - LEFT - RIGHT);
  const y = (value: number): number => TOP + ((highest - value) / (highest - lowest)) * (HEIGHT - TOP - BOTTOM);
  const at = ({ day, value }: Point): string => `${x(day).toFixed(1)},${y(value).toFixed(1)}`;
  const ticks = Array.from({ length: Math.round((highest - lowest) / step) + 1 }, (_, index) => lowest + index * step);
  const last = current.at(-1);
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {ticks.map((value) => (
        <g key={value}>
          <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(value)} y2={y(value)} />
          <text x={LEFT - 8} y={y(value) + 4} text-anchor="end">
            {compactNumber(value)}
          </text>
        </g>
      ))}
      {dayLabels(data.days).map((day) => (
        <text key={day} x={x(day - 0.5)} y={HEIGHT - 8} text-anchor="middle">
          {day}
        </text>
      ))}
      {data.forecast === null || last === undefined ? null : (
        <Forecast forecast={data.forecast} last={last} end={data.days} at={at} />
      )}
      <polyline class="before" points={previous.map(at).join(' ')} />
      <polyline class="now" points={current.map(at).join(' ')} />
      {limit === null ? null : (
        <>
          <line class="limit" x1={LEFT} x2={WIDTH - RIGHT} y1={y(limit)} y2={y(limit)} />
          <text class="limit-text" {...limitPlace(limit < highest / 2)} y={y(limit) - 6}>
            Limit {formatInteger(data.limit ?? 0n)}
          </text>
        </>
      )}
      {data.marks.map(({ day, label: text }) => (
        <circle key={`${day} ${text}`} class="mark" cx={x(day)} cy={y(chartValueAt(current, day))} r="5">
          <title>{text}</title>
        </circle>
      ))}
    </svg>
  );
}

/**
 * Returns the position of the limit's label. The line of usage crosses a low limit on the left, where it would run
 * through the label.
 */
function limitPlace(isLow: boolean): { x: number; 'text-anchor': 'start' | 'end' } {
  return isLow ? { x: WIDTH - RIGHT - 6, 'text-anchor': 'end' } : { x: LEFT + 6, 'text-anchor': 'start' };
}

function Forecast({
  forecast: { likely, low, high },
  last,
  end,
  at,
}: {
  forecast: NonNullable<MonthChartData['forecast']>;
  last: Point;
  end: number;
  at: (point: Point) => string;
}) {
  const band =
    low === null || high === null
      ? null
      : [last, { day: end, value: Number(high) }, { day: end, value: Number(low) }].map(at).join(' ');
  return (
    <>
      {band === null ? null : <polygon class="band" points={band} />}
      <polyline class="likely" points={[last, { day: end, value: Number(likely) }].map(at).join(' ')} />
    </>
  );
}

/** The legend of the chart: the name of each line, with a sample of it. */
export function MonthLegend({ data }: { data: MonthChartData }) {
  const { currentName, previousName, previous, limit, forecast, marks } = data;
  const entries: [name: string, sample: 'now' | 'before' | 'limit' | 'likely' | 'mark'][] = [[currentName, 'now']];
  if (previous.some((credits) => credits !== null)) entries.push([previousName, 'before']);
  if (limit !== null) entries.push(['limit', 'limit']);
  if (forecast !== null) entries.push([forecast.low === null ? 'forecast' : 'forecast with its 80% range', 'likely']);
  if (marks.length > 0) entries.push(['notified', 'mark']);
  return (
    <ul class="legend">
      {entries.map(([name, sample]) => (
        <li key={name}>
          <svg class="chart" viewBox="0 0 24 12" aria-hidden="true">
            {sample === 'mark' ? (
              <circle class="mark" cx="12" cy="6" r="5" />
            ) : (
              <line class={sample} x1="0" x2="24" y1="6" y2="6" />
            )}
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}

/**
 * Returns a point for each day with a reading. `lastDay` is the time of the last reading, in days since the month
 * began; null: the end of its day.
 */
function pointsOf(days: readonly (bigint | null)[], lastDay: number | null): Point[] {
  const points: Point[] = days.length === 0 ? [] : [{ day: 0, value: 0 }];
  for (const [index, credits] of days.entries()) {
    if (credits === null) continue;
    const isLast = index === days.length - 1;
    points.push({ day: isLast && lastDay !== null ? lastDay : index + 1, value: Number(credits) });
  }
  return points;
}

/** Cuts off the line of the other month at the last day of the chart, if that month is longer. */
function untilDay(points: readonly Point[], day: number): Point[] {
  const inside = points.filter((point) => point.day <= day);
  return inside.length === points.length ? inside : [...inside, { day, value: chartValueAt(points, day) }];
}

function chartValueAt(points: readonly Point[], day: number): number {
  const after = points.find((point) => point.day >= day);
  const before = points.findLast((point) => point.day < day);
  if (after === undefined || before === undefined) return (after ?? before)?.value ?? 0;
  return before.value + ((after.value - before.value) * (day - before.day)) / (after.day - before.day);
}

/** Returns a round distance between grid lines: 1, 2 or 5 times a power of ten. */
function niceStep(span: number): number {
  const size = 10 ** Math.floor(Math.log10(span / GRID_LINES));
  const times = [1, 2, 5, 10].find((each) => each * size * GRID_LINES >= span) ?? 10;
  return times * size;
}

function dayLabels(days: number): number[] {
  return [
    1,
    ...Array.from({ length: Math.floor(days / DAYS_BETWEEN_LABELS) }, (_, index) => (index + 1) * DAYS_BETWEEN_LABELS),
  ];
}
