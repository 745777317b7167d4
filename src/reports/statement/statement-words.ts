// cspell:ignore abgeschlossen abrechnung anfragen aufstockung beendet berechnet betrag inklusive korrektur
// cspell:ignore anfrage april diesen august dezember diesem fällig februar januar juli juni kein monat märz nichts oktober vereinbart
// cspell:ignore mindestbetrag monat nicht noch ohne positionen preis rabatt schätzung stufe summe unter verbrauch

import { MONTH_NAMES } from '../../core/month-names.ts';
import type { Period } from '../../core/period.ts';

/** The fixed words of an English statement. The language of a statement is that of its letterhead. */
const ENGLISH = {
  statement: 'Statement',
  workspace: 'workspace',
  month: 'Month',
  usage: 'Usage',
  credits: 'credits',
  requests: 'requests',
  line: 'Line',
  price: 'Price',
  amount: 'Amount',
  total: 'Total',
  asOf: 'As of',
  unpriced: 'not priced',
  nothingDue: 'nothing due',
  noPrice: 'No rate card prices this tenant in this month.',
  noUsage: 'No usage in this month.',
  linesOf: 'Lines of',
  open: 'estimate (month not over)',
  settling: 'estimate (month ended, not closed)',
  closed: 'closed',
};

export type StatementWords = Readonly<typeof ENGLISH>;

const GERMAN: StatementWords = {
  statement: 'Abrechnung',
  workspace: 'Workspace',
  month: 'Monat',
  usage: 'Verbrauch',
  credits: 'Credits',
  requests: 'Anfragen',
  line: 'Position',
  price: 'Preis',
  amount: 'Betrag',
  total: 'Summe',
  asOf: 'Stand',
  unpriced: 'ohne Preis',
  nothingDue: 'nichts fällig',
  noPrice: 'Für diesen Monat ist kein Preis vereinbart.',
  noUsage: 'Kein Verbrauch in diesem Monat.',
  linesOf: 'Positionen von',
  open: 'Schätzung (Monat noch nicht beendet)',
  settling: 'Schätzung (Monat beendet, nicht abgeschlossen)',
  closed: 'abgeschlossen',
};

export type StatementLanguage = 'en' | 'de';

export const STATEMENT_WORDS: Readonly<Record<StatementLanguage, StatementWords>> = { en: ENGLISH, de: GERMAN };

const GERMAN_MONTHS = [
  ...(['Januar', 'Februar', 'März', 'April', 'Mai', 'Juni'] as const),
  ...(['Juli', 'August', 'September', 'Oktober', 'November', 'Dezember'] as const),
] as const;

/** Formats a month in the language of the statement: `January 2026`. */
export function formatMonth(language: StatementLanguage, period: Period): string {
  const [year, month] = period.split('-');
  return `${(language === 'de' ? GERMAN_MONTHS : MONTH_NAMES)[Number(month) - 1] ?? month} ${year}`;
}

const LINES: readonly [RegExp, string][] = [
  [/^included$/, 'inklusive'],
  [/^usage, tier (\d+)$/, 'Verbrauch, Stufe $1'],
  [/^below 0, priced as 0$/, 'unter 0, berechnet als 0'],
  [/^([\d,]+) requests$/, '$1 Anfragen'],
  [/^1 request$/, '1 Anfrage'],
  [/^minimum$/, 'Aufstockung zum Mindestbetrag'],
  [/^discount$/, 'Rabatt'],
  [/^correction of (\S+), not priced$/, 'Korrektur von $1, ohne Preis'],
  [/^correction of ([^\s:]+)(: .*)?$/s, 'Korrektur von $1$2'],
];

export function translateLine(language: StatementLanguage, words: string): string {
  const [form, german] = LINES.find(([one]) => one.test(words)) ?? [];
  return language === 'en' || form === undefined || german === undefined ? words : words.replace(form, german);
}

/**
 * Converts a figure in English form to the form of the language. German separates thousands by points and decimals by a
 * comma.
 */
export function localizeFigure(language: StatementLanguage, figure: string): string {
  return language === 'en' ? figure : figure.replaceAll(/[.,]/g, (mark) => (mark === '.' ? ',' : '.'));
}
