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

/** A figure at the top of a page: a label, the number, and sentences that compare it. */
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

/**
 * A table cell: text, an exact integer, or other content. An integer gets separators; figures are aligned to the right.
 */
export type Cell = string | bigint | null | { content: ComponentChildren; isFigure?: boolean };

/** Builds the cell for a figure that is not a plain integer: an amount, a change or a share. */
export function figure(content: ComponentChildren): Cell {
  return { content, isFigure: true };
}

interface FigureTableProps {
  /** Names the table for screen readers. */
  label: string;
  heads: readonly string[];
  rows: readonly (readonly Cell[])[];
  /** If true, phones show each row as a list of labelled figures. */
  isStacked?: boolean;
}

/**
 * A table of figures. A table that is too wide scrolls inside its box. The first cell of a row is the row's heading.
 */
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

/** Returns the classes of a table. On narrow screens, several columns of numbers get less space between them. */
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
