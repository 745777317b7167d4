/** What a statement says to a tenant beside its figures, by the language of its letterhead. */
const ENGLISH = {
  statement: 'Statement',
  workspace: 'workspace',
  credits: 'credits in',
  requests: 'requests',
  line: 'Line',
  price: 'Price',
  amount: 'Amount',
  total: 'Total',
  asOf: 'As of',
  unpriced: 'not priced',
  linesOf: 'Lines of',
  open: 'open, an estimate: the month is not over',
  settling: 'settling, an estimate: it is over and not closed',
  closed: 'closed',
};

export type StatementWords = Readonly<typeof ENGLISH>;

const GERMAN: StatementWords = {
  statement: 'Abrechnung',
  workspace: 'Workspace',
  credits: 'Credits in',
  requests: 'Anfragen',
  line: 'Position',
  price: 'Preis',
  amount: 'Betrag',
  total: 'Summe',
  asOf: 'Stand',
  unpriced: 'ohne Preis',
  linesOf: 'Positionen von',
  open: 'offen, eine Schätzung: der Monat ist nicht vorbei',
  settling: 'vorbei und nicht abgeschlossen, eine Schätzung',
  closed: 'abgeschlossen',
};

export type StatementLanguage = 'en' | 'de';

export const STATEMENT_WORDS: Readonly<Record<StatementLanguage, StatementWords>> = { en: ENGLISH, de: GERMAN };

const LINES: readonly [RegExp, string][] = [
  [/^included$/, 'inklusive'],
  [/^usage, tier (\d+)$/, 'Verbrauch, Stufe $1'],
  [/^below 0, priced as 0$/, 'unter 0, berechnet als 0'],
  [/^minimum$/, 'Aufstockung zum Mindestbetrag'],
  [/^discount$/, 'Rabatt'],
  [/^correction of (\S+), not priced$/, 'Korrektur von $1, ohne Preis'],
  [/^correction of ([^\s:]+)(: .*)?$/s, 'Korrektur von $1$2'],
];

export function lineIn(language: StatementLanguage, words: string): string {
  const [form, german] = LINES.find(([one]) => one.test(words)) ?? [];
  return language === 'en' || form === undefined || german === undefined ? words : words.replace(form, german);
}

/** A figure with points for thousands and a comma before decimals where that is the custom. */
export function figureIn(language: StatementLanguage, figure: string): string {
  return language === 'en' ? figure : figure.replaceAll(/[.,]/g, (mark) => (mark === '.' ? ',' : '.'));
}
