import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';
import type * as PlotLibrary from '@observablehq/plot';
import { htmlText } from '../../core/text/html-text.ts';

/** The colours of the series in charts. All are readable on white and on a near-black background. */
export const CHART_COLOURS = ['#4269d0', '#d97706', '#dc4c5a', '#2f9e8f', '#8b5cf6', '#8a8f98'] as const;

export interface ChartText {
  title: string;
  description: string;
}

/**
 * The forecast of an open month. It is drawn as an outline on the month's bar, from the current value up to the
 * forecast.
 */
export interface Outline {
  month: string;
  from: number;
  to: number;
}

interface BarOptions {
  series: string[];
  forecast?: Outline | null;
}

export interface Charts {
  /**
   * Draws a stacked bar for each month. Each series in `options.series` gets the colour at the same index in
   * `CHART_COLOURS`.
   */
  stackedBars(rows: { month: string; series: string; value: number }[], options: BarOptions, text: ChartText): string;
  lines(rows: { day: number; series: string; value: number }[], series: string[], text: ChartText): string;
}

/** The members of a drawn chart that this file uses. The types of the DOM are not available in this project. */
interface Drawn {
  outerHTML: string;
  querySelectorAll(selector: string): Iterable<{
    setAttribute(name: string, value: string): void;
    removeAttribute(name: string): void;
    remove(): void;
  }>;
}

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' });
const CHART_WIDTH = 720;
const CHART_HEIGHT = 300;
/** The number of horizontal grid lines. With more, the larger labels on phones would overlap. */
const GRID_LINES = 4;

/**
 * Loads the chart library and returns the functions that draw charts. A chart is an SVG text without scripts or
 * external resources. Equal input gives equal bytes.
 */
export async function createCharts(): Promise<Charts> {
  // Loads the build of linkedom that is one file, because loading its many modules would take 0.2 s.
  const { parseHTML } = await import('linkedom/worker');
  const plot = loadPlot();
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const base = {
    document: document as never,
    width: CHART_WIDTH,
    height: CHART_HEIGHT,
    marginLeft: 64,
    marginBottom: 44,
  };
  const y = {
    label: null,
    grid: true,
    ticks: GRID_LINES,
    tickFormat: (value: number) => COMPACT.format(value),
    nice: true,
    zero: true,
  } as const;
  const colours = (series: string[]): PlotLibrary.ScaleOptions => ({
    domain: series,
    range: series.map((_, at) => CHART_COLOURS[at % CHART_COLOURS.length] as string),
  });
  const finish = (chart: Drawn, { title, description }: ChartText): string => {
    // Removes the chart's inline styles, which the pages of the console do not allow. The style sheet of the page has
    // the same rules.
    for (const part of chart.querySelectorAll('style')) part.remove();
    for (const axis of chart.querySelectorAll('[aria-label="x-axis tick label"]'))
      axis.setAttribute('class', 'x-labels');
    // Removes the accessible names of the chart's parts. The chart as a whole is an image with one name, and an image
    // must not contain further names.
    for (const part of chart.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label');
    const words = `<title>${htmlText(title)}</title><desc>${htmlText(description)}</desc>`;
    return chart.outerHTML.replace(
      /^<svg([^>]*)>/,
      (_, attributes: string) => `<svg role="img" aria-label="${htmlText(title)}"${attributes}>${words}`,
    );
  };
  return {
    stackedBars(rows, { series, forecast = null }, text) {
      const outline = {
        x: 'month',
        y1: 'from',
        y2: 'to',
        fill: 'none',
        stroke: 'currentColor',
        strokeDasharray: '4 3',
      };
      const marks = [
        plot.barY(forecast === null ? [] : [forecast], outline),
        plot.barY(rows, { x: 'month', y: 'value', fill: 'series', z: 'series', order: series }),
        plot.ruleY([0]),
      ];
      return finish(plot.plot({ ...base, x: { type: 'band', label: null }, y, color: colours(series), marks }), text);
    },
    lines(rows, series, text) {
      const line = plot.lineY(rows, { x: 'day', y: 'value', stroke: 'series', z: 'series', strokeWidth: 2 });
      // Draws a dot at each value, because a month with a value for only one day would show no line.
      const dots = plot.dot(rows, { x: 'day', y: 'value', fill: 'series', r: 2.5 });
      const x = { label: null, domain: [1, 31], ticks: 8 };
      return finish(plot.plot({ ...base, x, y, color: colours(series), marks: [line, dots, plot.ruleY([0])] }), text);
    },
  };
}

/** Returns the points of a small line chart of 100 by 24 units. The vertical axis goes from 0 to the largest value. */
export function sparkPoints(values: readonly bigint[]): string {
  const numbers = values.map(Number);
  const most = Math.max(...numbers, 1);
  const step = numbers.length > 1 ? 96 / (numbers.length - 1) : 0;
  return numbers.map((value, at) => `${(2 + at * step).toFixed(1)},${(22 - (20 * value) / most).toFixed(1)}`).join(' ');
}

/**
 * Loads the builds of Plot and D3 that are one file each, because loading their hundreds of modules takes twice the CPU
 * time. Does not change the global scope.
 */
function loadPlot(): typeof PlotLibrary {
  const plot = createRequire(import.meta.url).resolve('@observablehq/plot');
  const d3 = createRequire(plot).resolve('d3');
  const drawing = load(join(dirname(d3), 'd3.min.js'), null);
  return load(join(dirname(plot), '../dist/plot.umd.min.js'), drawing) as typeof PlotLibrary;
}

function load(path: string, required: unknown): unknown {
  const module = { exports: {} };
  const run = compileFunction(readFileSync(path, 'utf8'), ['module', 'exports', 'require'], { filename: path });
  run(module, module.exports, () => required);
  return module.exports;
}
