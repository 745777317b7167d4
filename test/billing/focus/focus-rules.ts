/** A row as it was read back from the file: null where a field is empty and not quoted. */
export type ReadRow = Readonly<Record<string, string | null>>;

type Check = (value: string | null, row: ReadRow) => boolean;

const isNull: Check = (value) => value === null;
const isText: Check = (value) => value === null || (value !== '' && /^[\x20-\x7e]*$/.test(value));
const isDecimal: Check = (value) => value === null || /^-?\d+\.\d+$/.test(value);
const isTime: Check = (value) => value !== null && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value);
const given: Check = (value) => value !== null;
const oneOf =
  (...words: string[]): Check =>
  (value) =>
    value !== null && words.includes(value);
const when =
  (condition: (row: ReadRow) => boolean, check: Check): Check =>
  (value, row) =>
    !condition(row) || check(value, row);

const isSold = (row: ReadRow) =>
  (row.ChargeCategory === 'Usage' || row.ChargeCategory === 'Purchase') && row.ChargeClass !== 'Correction';
const isTax = (row: ReadRow) => row.ChargeCategory === 'Tax';
/** The value times the priced quantity is that cost, exactly. */
const timesQuantityIs =
  (cost: string): Check =>
  (value, row) => {
    if (value === null || row.PricingQuantity === null || row.ChargeClass === 'Correction') return true;
    return sameProduct(value, row.PricingQuantity ?? '', row[cost] ?? '');
  };

/** Exact in integers: a x b = c. */
function sameProduct(a: string, b: string, c: string): boolean {
  const [x, y, z] = [a, b, c].map((text) => {
    const [whole = '', part = ''] = text.split('.');
    return { digits: BigInt(whole + part), places: BigInt(part.length) };
  });
  if (x === undefined || y === undefined || z === undefined) return false;
  return x.digits * y.digits * 10n ** z.places === z.digits * 10n ** (x.places + y.places);
}

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

/** The static rules of 1.2 as the public validator has them; what it says a column MAY be is no rule. */
const RULES_1_2: Readonly<Record<string, Check[]>> = {
  BilledCost: [given, isDecimal, when((row) => row.ProviderName !== row.InvoiceIssuerName, oneOf('0.0'))],
  EffectiveCost: [given, isDecimal, when((row) => row.ChargeCategory === 'Purchase', oneOf('0.0'))],
  ListCost: [given, isDecimal, (_, row) => timesQuantityIs('ListCost')(row.ListUnitPrice ?? null, row)],
  ContractedCost: [given, isDecimal],
  BillingAccountId: mandatoryText,
  BillingAccountName: mandatoryText,
  BillingCurrency: [given, (value) => /^[A-Z]{3}$/.test(value ?? '')],
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
  ServiceCategory: [oneOf('Analytics', 'Business Applications', 'Other')],
  PricingQuantity: [isDecimal, when(isTax, isNull), when(isSold, given)],
  PricingUnit: [isText, (value, row) => (value === null) === (row.PricingQuantity === null)],
  ChargeFrequency: [
    oneOf('One-Time', 'Recurring', 'Usage-Based'),
    when((row) => row.ChargeCategory === 'Purchase', oneOf('One-Time', 'Recurring')),
  ],
  InvoiceId: [isText],
  ServiceSubcategory: [(value, row) => SUBCATEGORIES[row.ServiceCategory ?? '']?.includes(value ?? '') === true],
  ConsumedQuantity: [isDecimal, when((row) => row.ChargeCategory !== 'Usage', isNull)],
  ConsumedUnit: [isText, (value, row) => (value === null) === (row.ConsumedQuantity === null)],
  SubAccountId: [isText],
  SubAccountName: [isText, (value, row) => (value === null) === (row.SubAccountId === null)],
  ListUnitPrice: [isDecimal, isNotNegative, when(isTax, isNull), when(isSold, given), timesQuantityIs('ListCost')],
  ContractedUnitPrice: [
    isDecimal,
    isNotNegative,
    when(isTax, isNull),
    when(isSold, given),
    timesQuantityIs('ContractedCost'),
  ],
  SkuId: [isText, when(isTax, isNull), when(isSold, given)],
  SkuPriceId: [isText, when(isTax, isNull), when(isSold, given)],
  SkuMeter: [isText, (value, row) => (value === null) === (row.SkuId === null)],
  SkuPriceDetails: [isText, when((row) => row.SkuPriceId === null, isNull)],
  PricingCategory: [
    when(isTax, isNull),
    when(isSold, given),
    (value) => value === null || ['Standard', 'Committed', 'Dynamic', 'Other'].includes(value),
  ],
};

const NEW_IN_1_3: Readonly<Record<string, Check[]>> = {
  ServiceProviderName: mandatoryText,
  HostProviderName: mandatoryText,
};

function isNotNegative(value: string | null): boolean {
  return value === null || !value.startsWith('-');
}

/** Every rule that a file breaks, in words; the header has to name each column of the version once, ours last. */
export function brokenRules(header: readonly string[], rows: readonly ReadRow[], version: '1.2' | '1.3'): string[] {
  const rules = version === '1.2' ? RULES_1_2 : { ...RULES_1_2, ...NEW_IN_1_3 };
  const broken: string[] = [];
  for (const column of Object.keys(rules)) {
    if (header.filter((name) => name === column).length !== 1) broken.push(`${column} is not there once`);
  }
  const standard = header.filter((name) => !name.startsWith('x_'));
  for (const name of standard) if (rules[name] === undefined) broken.push(`${name} is no column of ${version}`);
  if (header.slice(0, standard.length).some((name) => name.startsWith('x_')))
    broken.push('custom columns are not last');
  rows.forEach((row, at) => {
    for (const [column, checks] of Object.entries(rules)) {
      checks.forEach((check, number) => {
        const value = row[column] ?? null;
        if (!check(value, row)) broken.push(`row ${at + 1}: ${column} breaks rule ${number + 1} with ${value}`);
      });
    }
  });
  const skuOfPrice = new Map<string, string | null>();
  for (const { SkuPriceId, SkuId } of rows) {
    if (SkuPriceId == null) continue;
    if (skuOfPrice.has(SkuPriceId) && skuOfPrice.get(SkuPriceId) !== SkuId) broken.push(`two SkuIds of ${SkuPriceId}`);
    skuOfPrice.set(SkuPriceId, SkuId ?? null);
  }
  return broken;
}

/** Reads CSV by RFC 4180, with CRLF; an empty field that is not quoted is null. */
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
