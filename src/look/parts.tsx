import type { ComponentChildren, VNode } from 'preact';
import { withThousands } from '../core/text/words.ts';

interface CardProps {
  title: string;
  note?: ComponentChildren;
  children: ComponentChildren;
}

export function Card({ title, note, children }: CardProps) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {note === undefined ? null : <p>{note}</p>}
      </header>
      {children}
    </section>
  );
}

export type Tone = 'bad' | 'odd' | 'good' | 'quiet';

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A figure at the top of a page: its label, the number, and sentences that put it into proportion. */
export function Tile({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <section class="tile">
      <h2>{label}</h2>
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** A cell: text, an exact integer with separators, or content, which stands on the right if it is a figure. */
export type Cell = string | bigint | null | { content: ComponentChildren; isFigure?: boolean };

/** Builds the cell of an amount, a change or a share: a figure that is not a plain integer. */
export function figure(content: ComponentChildren): Cell {
  return { content, isFigure: true };
}

interface FigureTableProps {
  /** Names the table for screen readers. */
  label: string;
  heads: readonly string[];
  rows: readonly (readonly Cell[])[];
  /** The rows become lists of labelled figures on phones. */
  isStacked?: boolean;
}

/** A table of figures, which scrolls sideways inside its box. The first cell of a row is its head. */
export function FigureTable({ label, heads, rows, isStacked = false }: FigureTableProps) {
  const isNumber = heads.map((_, at) => rows.some((row) => isFigure(row[at] ?? null)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table class={tableClass({ numbers: isNumber.filter(Boolean).length, isStacked })}>
        <thead>
          <tr>
            {heads.map((head, at) => (
              <th key={head} scope="col" class={isNumber[at] === true ? 'number' : ''}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>{row.map((cell, column) => bodyCell(cell, column, isStacked ? heads[column] : undefined))}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Returns the classes of a table: with several columns of numbers, it is set closer on narrow screens. */
export function tableClass({ numbers, isStacked }: { numbers: number; isStacked: boolean }): string {
  return [numbers > 1 ? 'figures' : '', isStacked ? 'stacked' : ''].filter((name) => name !== '').join(' ');
}

function bodyCell(cell: Cell, column: number, label: string | undefined): VNode {
  const content =
    typeof cell === 'bigint' ? withThousands(String(cell)) : typeof cell === 'object' ? cell?.content : cell;
  if (column === 0) return <th scope="row">{content}</th>;
  return (
    <td class={isFigure(cell) ? 'number' : ''} data-label={label}>
      {content}
    </td>
  );
}

function isFigure(cell: Cell): boolean {
  return typeof cell === 'bigint' || (typeof cell === 'object' && cell?.isFigure === true);
}
