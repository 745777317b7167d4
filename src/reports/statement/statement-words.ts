// cspell:ignore abgeschlossen abrechnung anfragen aufstockung beendet berechnet betrag inklusive korrektur
// cspell:ignore mindestbetrag monat nicht noch ohne positionen preis rabatt schätzung stufe summe unter verbrauch

/** The fixed words of a statement by the language of its letterhead. */
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
  open: 'estimate (month not over)',
  settling: 'estimate (month ended, not closed)',
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
  open: 'Schätzung (Monat noch nicht beendet)',
  settling: 'Schätzung (Monat beendet, nicht abgeschlossen)',
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

export function translateLine(language: StatementLanguage, words: string): string {
  const [form, german] = LINES.find(([one]) => one.test(words)) ?? [];
  return language === 'en' || form === undefined || german === undefined ? words : words.replace(form, german);
}

/** Formats a figure for the language: German uses points for thousands and a decimal comma. */
export function localizeFigure(language: StatementLanguage, figure: string): string {
  return language === 'en' ? figure : figure.replaceAll(/[.,]/g, (mark) => (mark === '.' ? ',' : '.'));
}
