import type { ComponentChildren } from 'preact';
import { Card, FigureTable } from '../../look/parts.tsx';
import { CHART_COLOURS } from './charts.ts';
import type { Drawing } from './draw-charts.ts';

/** Renders a chart with its legend. Its figures are in a table that is closed at first. */
export function ChartCard({
  title,
  drawing,
  ofMonths = false,
  heads,
  rows,
}: { title: string; drawing: Drawing; ofMonths?: boolean } & Pick<
  Parameters<typeof FigureTable>[0],
  'heads' | 'rows'
>) {
  const { series, svg, hasForecast } = drawing;
  return (
    <Card title={title} note={hasForecast ? 'Outline: the forecast for the month.' : undefined}>
      <div class="inside">
        {series.length === 0 ? null : <Legend series={series} />}
        <ChartBox svg={svg} ofMonths={ofMonths} />
        <Figures>
          <FigureTable label={`Figures: ${drawing.title}`} heads={heads} rows={rows} />
        </Figures>
      </div>
    </Card>
  );
}

/**
 * Renders the drawing of a chart. On phones, a chart of more than six months labels only every third month and the last
 * one.
 */
function ChartBox({ svg, ofMonths = false }: { svg: string; ofMonths?: boolean }) {
  return <div class={ofMonths ? 'plot months' : 'plot'} dangerouslySetInnerHTML={{ __html: svg }} />;
}

function Figures({ children }: { children: ComponentChildren }) {
  return (
    <details>
      <summary>Figures</summary>
      {children}
    </details>
  );
}

function Legend({ series }: { series: readonly string[] }) {
  return (
    <ul class="legend">
      {series.map((name, at) => (
        <li key={name}>
          <svg viewBox="0 0 24 12" aria-hidden="true">
            <rect width="24" height="12" rx="3" fill={CHART_COLOURS[at % CHART_COLOURS.length]} />
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}
