import { parseDateTime } from '../../core/date-time.ts';
import { UsageError } from '../../core/errors.ts';
import { type PeriodWindow, parsePeriod } from '../../core/period.ts';
import { type PeriodInput, selectedWindow } from '../../operations/selected-periods.ts';
import { type Column, formatInteger, type TableColumn } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import type { CliCommand, CliContext } from './cli-context.ts';

/**
 * Parses an option's date or time into milliseconds since the epoch. A date stands for its first instant. Without a
 * zone it is UTC.
 */
export function parseMoment(option: string, text: string): number {
  const epochMs = parseDateTime(text.includes('T') ? text : `${text}T00:00:00Z`);
  if (epochMs !== null) return epochMs;
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is not a time`,
    'use ISO 8601, such as 2026-04-01 or 2026-04-01T08:00:00Z; without a zone it is UTC',
  );
}

export function parseWholeNumber(text: string, option: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is out of range`,
    `give ${option} a whole number from ${min} to ${max}`,
  );
}

export const SHEET_OPTION = ['--sheet <name>', 'the sheet of a workbook (default: the first one)'] as const;

export interface PeriodOptions {
  period?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export function addPeriodOptions(command: CliCommand, { note = '' } = {}): CliCommand {
  return command
    .option('--period <period>', `only this period, YYYY-MM${note}`)
    .option('--from <period>', 'first period, YYYY-MM')
    .option('--to <period>', 'last period, YYYY-MM');
}

/** Returns `--period`, `--from` and `--to` as periods. Throws `bad_period` for anything else. */
export function parsePeriods({ period, from, to }: PeriodOptions): PeriodInput {
  return {
    period: period === undefined ? undefined : parsePeriod(period, '--period'),
    from: from === undefined ? undefined : parsePeriod(from, '--from'),
    to: to === undefined ? undefined : parsePeriod(to, '--to'),
  };
}

/** Returns `--from` and `--to`, both inclusive and both optional. Throws UsageError when they are reversed. */
export function parsePeriodWindow({ from, to }: Omit<PeriodOptions, 'period'>): PeriodWindow {
  return selectedWindow(parsePeriods({ from, to }));
}

export const parseLimit = (text: string): number => parseWholeNumber(text, '--limit', 1, 1_000_000_000);

/** The option for the name that is recorded as the actor of a change. Nobody checks the name. */
export const BY_OPTION = ['--by <name>', 'recorded actor (default: the system user, as NAME (terminal))'] as const;

export const LIMIT_OPTION = ['--limit <number>', 'maximum number shown', parseLimit] as const;

/** Returns the first `limit` rows, and notes at the end of the output how many are not shown. */
export function firstRows<Row>(cli: CliContext, rows: readonly Row[], limit: number | undefined): Row[] {
  const shown = rows.slice(0, limit);
  noteOmittedRows(cli, rows.length - shown.length);
  return shown;
}

export function noteOmittedRows(cli: CliContext, count: number): void {
  if (count > 0) cli.noteAtEnd(`${formatInteger(count)} more`);
}

/** Prints a short list: with --json a document of `head` and the rows, else a table unless it is empty. */
export function printRows<Row extends object>(
  cli: CliContext,
  rows: readonly Row[],
  columns: readonly (TableColumn<NoInfer<Row>> | Column<NoInfer<Row>>)[],
  head: object = {},
): void {
  if (cli.json) cli.printJson({ ...head, rows });
  else if (rows.length > 0) cli.print(renderTable(rows, columns, cli.tableOptions));
}
