import type { ComponentChildren } from 'preact';
import type { Severity } from '../../../core/text/alert-words.ts';
import { Badge, tableClass } from '../../../look/parts.tsx';
import { formatInteger, timeAgo } from '../../../reports/formats/columns.ts';
import { minuteName } from './formats.ts';
import { usePageZone } from './page-zone.ts';

export { Badge, Card, Empty, Tile, type Tone } from '../../../look/parts.tsx';

export function SeverityBadge({ severity }: { severity: Severity }) {
  return <Badge tone={severity === 'critical' ? 'bad' : 'odd'}>{severity}</Badge>;
}

/** Shows a time to the minute, in the page's time zone. */
export function Time({ at }: { at: string | null }) {
  const timezone = usePageZone();
  if (at === null) return <span class="quiet">never</span>;
  return (
    <time class="nowrap" dateTime={at}>
      {minuteName(at, timezone)}
    </time>
  );
}

/** Shows how long ago something happened. */
export function Ago({ at, nowMs }: { at: string | null; nowMs: number }) {
  if (at === null) return <span class="quiet">never</span>;
  return (
    <time class="nowrap" dateTime={at}>
      {timeAgo(at, nowMs)}
    </time>
  );
}

export interface Head {
  label: string;
  /** True if the column has numbers. */
  number?: boolean;
  /** True if the column is left out on narrow screens. */
  wide?: boolean;
  /** The address of the page sorted by this column; absent if the page cannot be sorted by it. */
  sortLink?: string | undefined;
  /** True if the rows are sorted by this column. */
  sorted?: boolean;
}

interface TableProps {
  /** Names the table for screen readers. */
  label: string;
  heads: readonly Head[];
  /** What the rows are, such as `alerts`. If set, each row begins with a checkbox that selects it. */
  pick?: string;
  /**
   * True if the cells of a row are below each other on narrow screens. The attribute `data-label` then names each cell.
   */
  stacked?: boolean;
  children: ComponentChildren;
}

/** A table that scrolls sideways inside its box. */
export function Table({ label, heads, pick, stacked, children }: TableProps) {
  const numbers = heads.filter(({ number }) => number === true).length;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table class={tableClass({ numbers, isStacked: stacked === true })}>
        <thead>
          <tr>
            {pick === undefined ? null : (
              <td class="pick">
                <span hidden>
                  <input type="checkbox" data-all aria-label={`Select all ${pick} of this page`} />
                </span>
              </td>
            )}
            {heads.map((head) => (
              <HeadCell key={head.label} {...head} />
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

function HeadCell({ label, number, wide, sortLink, sorted }: Head) {
  const classes = [number ? 'number' : '', wide ? 'wide-only' : ''].filter((name) => name !== '').join(' ');
  return (
    <th scope="col" class={classes} {...(sorted ? { 'aria-sort': 'descending' as const } : {})}>
      {sortLink === undefined ? label : <a href={sortLink}>{label}</a>}
    </th>
  );
}

interface PagesProps {
  from: number;
  shown: number;
  total: number | null;
  previous: string | null;
  next: string | null;
}

/** Links to the previous and the next rows of a list. */
export function Pages({ from, shown, total, previous, next }: PagesProps) {
  if (previous === null && next === null) return null;
  const all = total === null ? '' : ` of ${formatInteger(total)}`;
  return (
    <nav class="pages" aria-label="Pages">
      <span>
        {formatInteger(from + 1)} to {formatInteger(from + shown)}
        {all}
      </span>
      <span>
        {previous === null ? null : (
          <a href={previous} rel="prev">
            Previous
          </a>
        )}{' '}
        {next === null ? null : (
          <a href={next} rel="next">
            Next
          </a>
        )}
      </span>
    </nav>
  );
}

export interface Choice {
  value: string;
  label: string;
}

/** A drop-down list with a label above it. The empty value means all. */
export function Select({
  name,
  label,
  value,
  choices,
}: {
  name: string;
  label: string;
  value: string | undefined;
  choices: readonly Choice[];
}) {
  return (
    <label>
      {label}
      <select name={name}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} selected={choice.value === (value ?? '')}>
            {choice.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A text field with a label above it. */
export function Field({
  name,
  label,
  value = '',
  long,
  ...others
}: {
  name: string;
  label: string;
  value?: string | undefined;
  /** True if the field is twice as wide as other filters. */
  long?: boolean;
  type?: string;
  required?: boolean;
  maxLength?: number;
  placeholder?: string;
  autocomplete?: string;
}) {
  return (
    <label class={long ? 'long' : ''}>
      {label}
      <input name={name} value={value} {...others} />
    </label>
  );
}
