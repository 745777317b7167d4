/**
 * ISO 4217 currency codes by the number of decimals of their minor unit. Metals, test codes and units of account are
 * left out, because nobody bills in them. Currencies that have been replaced are kept, because old periods were billed
 * in them.
 */
const CODES_BY_DIGITS: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW
    CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS
    INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN
    NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC
    SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const MINOR_DIGITS: ReadonlyMap<string, number> = new Map(
  Object.entries(CODES_BY_DIGITS).flatMap(([digits, codes]) =>
    codes.split(/\s+/).map((code) => [code, Number(digits)] as const),
  ),
);

/** Reports whether the code is a currency that can be billed in, such as `EUR`. The code must be in upper case. */
export function isCurrency(code: string): boolean {
  return MINOR_DIGITS.has(code);
}

/**
 * Returns the number of decimals of the currency's minor unit: 2 for EUR (cents), 0 for JPY, 3 for KWD. Throws
 * RangeError for a code that `isCurrency` rejects.
 */
export function minorDigits(currency: string): number {
  const digits = MINOR_DIGITS.get(currency);
  if (digits === undefined) throw new RangeError(`${JSON.stringify(currency)} is not a currency of ISO 4217`);
  return digits;
}

/**
 * Reports whether a code or symbol, such as `USD` or `$`, can mean this currency. Several currencies share a symbol.
 */
export function canDenote(mark: string, currency: string): boolean {
  if (mark === currency) return true;
  const form = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  const symbol = form.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? currency;
  return !isCurrency(mark) && symbol.includes(mark.normalize('NFKC'));
}

/** Formats minor units as an exact decimal: `-1234` in EUR is `-12.34`. */
export function formatMinor(amountMinor: bigint, currency: string): string {
  return plainDecimal(amountMinor, minorDigits(currency));
}

/** Formats units of the last decimal place as a plain decimal: `-1234` with two decimals is `-12.34`. */
export function plainDecimal(units: bigint, digits: number): string {
  const text = (units < 0n ? -units : units).toString().padStart(digits + 1, '0');
  const sign = units < 0n ? '-' : '';
  return digits === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/**
 * Parses a plain decimal into minor units: `12.5` in EUR is 1250. Returns null for anything else, such as thousands
 * separators or more decimals than the currency has.
 */
export function parseMinor(text: string, currency: string): bigint | null {
  const [, sign = '', whole = '', part = ''] = /^(-?)(\d{1,18})(?:\.(\d+))?$/.exec(text.trim()) ?? [];
  const digits = minorDigits(currency);
  if (whole === '' || part.replace(/0+$/, '').length > digits) return null;
  return BigInt(sign + whole + part.slice(0, digits).padEnd(digits, '0'));
}

/** How half a minor unit is rounded: `half_even` rounds to the even neighbour, `half_up` away from zero. */
export const ROUNDINGS = ['half_even', 'half_up'] as const;
export type Rounding = (typeof ROUNDINGS)[number];
