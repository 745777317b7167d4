/** A value read back: text from CSV; numbers, times and text from Parquet; null if empty. */
type FocusValue = string | number | bigint | Date | null;
export type ReadRow = Readonly<Record<string, FocusValue>>;

type Check = (value: FocusValue, row: ReadRow) => boolean;

const isNull: Check = (value) => value === null;
const given: Check = (value) => value !== null;
const isText: Check = (value) => value === null || (typeof value === 'string' && /^[\x20-\x7e]+$/.test(value));
/** Checks a decimal: text with a fraction and without separators, or a double in Parquet. */
const isDecimal: Check = (value) =>
  value === null || (typeof value === 'number' ? Number.isFinite(value) : /^-?\d+\.\d+$/.test(String(value)));
const isTime: Check = (value) =>
  value instanceof Date
    ? value.getTime() % 1000 === 0
    : typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value);
/** Checks for a flat JSON object of texts. */
const isKeyValues: Check = (value) =>
  value === null || Object.values(JSON.parse(String(value)) as object).every((one) => typeof one === 'string');
const isZero: Check = (value) => Number(value) === 0;
const isNotNegative: Check = (value) => value === null || Number(value) >= 0;
const isCurrency: Check = (value) => Intl.supportedValuesOf('currency').includes(String(value));
const oneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);
const when =
  (condition: (row: ReadRow) => boolean, check: Check): Check =>
  (value, row) =>
    !condition(row) || check(value, row);
const nullWith =
  (column: string): Check =>
  (value, row) =>
    (value === null) === (row[column] === null);

const isUsage = (row: ReadRow) => row.ChargeCategory === 'Usage';
const isCorrection = (row: ReadRow) => row.ChargeClass === 'Correction';
const isSold = (row: ReadRow) => (isUsage(row) || row.ChargeCategory === 'Purchase') && !isCorrection(row);
const isTax = (row: ReadRow) => row.ChargeCategory === 'Tax';
/** Checks that the unit price times the priced quantity equals the cost. */
const timesQuantityIs =
  (price: string, cost: string): Check =>
  (_, row) => {
    const factors = [row[price] ?? null, row.PricingQuantity ?? null];
    if (isCorrection(row) || factors.includes(null)) return true;
    return sameProduct(factors[0] ?? null, factors[1] ?? null, row[cost] ?? null);
  };

/** Compares exactly for text, and within the error of two roundings for doubles. */
function sameProduct(a: FocusValue, b: FocusValue, c: FocusValue): boolean {
  if (typeof a === 'number' || typeof b === 'number' || typeof c === 'number') {
    return Math.abs(Number(a) * Number(b) - Number(c)) <= Math.abs(Number(c)) * 4 * Number.EPSILON;
  }
  const [x, y, z] = [a, b, c].map((text) => {
    const [whole = '', part = ''] = String(text).split('.');
    return { digits: BigInt(whole + part), places: BigInt(part.length) };
  });
  if (x === undefined || y === undefined || z === undefined) return false;
  return x.digits * y.digits * 10n ** z.places === z.digits * 10n ** (x.places + y.places);
}

const CATEGORIES = [
  ...['AI and Machine Learning', 'Analytics', 'Business Applications', 'Compute', 'Databases', 'Developer Tools'],
  ...['Multicloud', 'Identity', 'Integration', 'Internet of Things', 'Management and Governance', 'Media', 'Migration'],
  ...['Mobile', 'Networking', 'Security', 'Storage', 'Web', 'Other'],
];
/** The subcategories that the specification lists. */
const SUBCATEGORIES: Readonly<Record<string, readonly string[]>> = {
  Analytics: [
    'Analytics Platforms',
    'Business Intelligence',
    'Data Processing',
    'Search',
    'Streaming Analytics',
    'Other (Analytics)',
  ],
  'Business Applications': ['Productivity and Collaboration', 'Other (Business Applications)'],
  Other: ['Other (Other)'],
};

const mandatoryText: Check[] = [given, isText];

/** The static rules of FOCUS 1.3, as in the public validator. A MAY is not a rule. */
const RULES: Readonly<Record<string, Check[]>> = {
  BilledCost: [given, isDecimal, when((row) => row.ProviderName !== row.InvoiceIssuerName, isZero)],
  EffectiveCost: [given, isDecimal, when((row) => row.ChargeCategory === 'Purchase', isZero)],
  ListCost: [given, isDecimal, timesQuantityIs('ListUnitPrice', 'ListCost')],
  ContractedCost: [given, isDecimal],
  BillingAccountId: mandatoryText,
  BillingAccountName: mandatoryText,
  BillingCurrency: [given, isText, isCurrency],
  BillingPeriodStart: [isTime],
  BillingPeriodEnd: [isTime],
  ChargePeriodStart: [isTime],
  ChargePeriodEnd: [isTime],
  ChargeCategory: [oneOf('Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment')],
  ChargeClass: [(value) => value === null || value === 'Correction'],
  ChargeDescription: mandatoryText,
  InvoiceIssuerName: mandatoryText,
  ProviderName: mandatoryText,
  PublisherName: mandatoryText,
  ServiceName: mandatoryText,
  ServiceCategory: [oneOf(...CATEGORIES)],
  PricingQuantity: [isDecimal, when(isTax, isNull), when(isSold, given)],
  PricingUnit: [isText, nullWith('PricingQuantity')],
  ChargeFrequency: [
    oneOf('One-Time', 'Recurring', 'Usage-Based'),
    when((row) => row.ChargeCategory === 'Purchase', oneOf('One-Time', 'Recurring')),
  ],
  InvoiceId: [isText],
  ServiceSubcategory: [
    (value, row) => SUBCATEGORIES[String(row.ServiceCategory)]?.includes(String(value)) !== false,
    given,
    isText,
  ],
  ConsumedQuantity: [
    isDecimal,
    when((row) => !isUsage(row), isNull),
    when((row) => isUsage(row) && isSold(row), given),
  ],
  ConsumedUnit: [isText, nullWith('ConsumedQuantity')],
  SubAccountId: [isText],
  SubAccountName: [isText, nullWith('SubAccountId')],
  Tags: [isKeyValues],
  ListUnitPrice: [
    isDecimal,
    isNotNegative,
    when(isTax, isNull),
    when(isSold, given),
    timesQuantityIs('ListUnitPrice', 'ListCost'),
  ],
  ContractedUnitPrice: [
    isDecimal,
    isNotNegative,
    when(isTax, isNull),
    when(isSold, given),
    timesQuantityIs('ContractedUnitPrice', 'ContractedCost'),
  ],
  SkuId: [isText, when(isTax, isNull), when(isSold, given)],
  SkuPriceId: [isText, when(isTax, isNull), when(isSold, given)],
  SkuMeter: [isText, nullWith('SkuId')],
  SkuPriceDetails: [isText, when((row) => row.SkuPriceId === null, isNull)],
  PricingCategory: [
    when(isTax, isNull),
    when(isSold, given),
    (value) => value === null || oneOf('Standard', 'Committed', 'Dynamic', 'Other')(value, {}),
  ],
  ServiceProviderName: mandatoryText,
  HostProviderName: mandatoryText,
};

/** Returns a sentence for every rule that a file breaks. The header must name each column once, custom ones last. */
export function brokenRules(header: readonly string[], rows: readonly ReadRow[]): string[] {
  const broken: string[] = [];
  for (const column of Object.keys(RULES)) {
    if (header.filter((name) => name === column).length !== 1) broken.push(`${column} is not there once`);
  }
  const standard = header.filter((name) => !name.startsWith('x_'));
  for (const name of standard) if (RULES[name] === undefined) broken.push(`${name} is no column of FOCUS`);
  if (header.slice(0, standard.length).some((name) => name.startsWith('x_')))
    broken.push('custom columns are not last');
  rows.forEach((row, at) => {
    for (const [column, checks] of Object.entries(RULES)) {
      checks.forEach((check, number) => {
        const value = row[column] ?? null;
        if (!check(value, row)) broken.push(`row ${at + 1}: ${column} breaks rule ${number + 1} with ${value}`);
      });
    }
  });
  broken.push(...notOneToOne(rows, 'SkuPriceId', 'SkuId'));
  broken.push(...notOneToOne(rows, 'BillingAccountId', 'BillingCurrency'));
  broken.push(...notOneToOne(rows, 'ServiceName', 'ServiceCategory'));
  broken.push(...notOneToOne(rows, 'ServiceName', 'ServiceSubcategory'));
  return broken;
}

/** Returns the values of a column that occur with several values of another column. */
function notOneToOne(rows: readonly ReadRow[], column: string, other: string): string[] {
  const found = new Map<FocusValue, FocusValue>();
  const broken: string[] = [];
  for (const row of rows) {
    const [key, value] = [row[column] ?? null, row[other] ?? null];
    if (key === null) continue;
    if (found.has(key) && found.get(key) !== value) broken.push(`several ${other} of ${column} ${key}`);
    found.set(key, value);
  }
  return broken;
}

/** Parses CSV by RFC 4180 with CRLF. An empty unquoted field is null. */
export function readFocus(text: string): { header: string[]; rows: ReadRow[] } {
  const records: (string | null)[][] = [];
  let record: (string | null)[] = [];
  for (let at = 0; at < text.length; ) {
    const [whole, quoted, plain, end] =
      /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(text.slice(at, at + 4000)) ?? [];
    if (whole === undefined) throw new Error(`not CSV at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    record.push(quoted === undefined ? plain || null : quoted.replaceAll('""', '"'));
    at += whole.length;
    if (end === ',') continue;
    records.push(record);
    record = [];
  }
  const [header = [], ...rows] = records;
  const names = header.map((name) => name ?? '');
  return {
    header: names,
    rows: rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]))),
  };
}
