import Big from 'big.js';
import fc from 'fast-check';
import { parse } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { parseUsagePage } from '../../../src/usage-api/answers/check-page.ts';
import { InvalidResponseError } from '../../../src/usage-api/errors.ts';
import { page } from '../service-double.ts';

const WHERE = { page: 7, workspaceId: 'ws-1' };
const encode = (text: string) => new TextEncoder().encode(text);

/** Figures as text, so that JSON that is written can hold integers that no double holds. */
const figure = fc.oneof(fc.bigInt({ min: 1n - 2n ** 63n, max: 2n ** 63n - 1n }), fc.bigInt({ min: 0n, max: 10_000n }));
const JANUARY = { period: '2026-01', period_start: '2026-01-01T00:00:00', period_end: '2026-01-31T23:59:59' };
const month = fc.constantFrom(JANUARY, {
  period: '2026-02',
  period_start: '2026-02-01 00:00+01:00',
  period_end: '2026-03-01T00:00:00Z',
});
const record = fc
  .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), month, figure, figure)
  .map(([tenant_id, bounds, credits, requests]) => ({
    tenant_id,
    ...bounds,
    credits_used: `@${credits}@`,
    request_count: `@${requests}@`,
  }))
  .chain(shuffled);
/** The text of a page of any content, order and spacing. */
const anyText = fc
  .tuple(fc.array(record, { maxLength: 6 }), fc.constantFrom<string | number>('', 1, '\t', '\r'))
  .map(([records, space]) => JSON.stringify(page(records), null, space).replace(/"@(-?\d+)@"/g, '$1'));

describe('a usage page', () => {
  it('is read as an independent parser reads it, whatever its content, order and spacing', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(figuresOf(parseUsagePage(encode(text), WHERE).usage)).toEqual(figuresIn(text));
      }),
      { numRuns: 500 },
    );
  });

  it('is read to the last digit with a fraction of zeros, which a double would round', () => {
    const text = JSON.stringify(page([{ tenant_id: 't', ...JANUARY, credits_used: '@', request_count: 1 }]));
    const found = figuresOf(parseUsagePage(encode(text.replace('"@"', '-10000000000000009.00')), WHERE).usage);
    expect(found).toEqual([['t', '2026-01', '-10000000000000009', '1']]);
  });

  it('is read as that parser reads it or refused, whatever has become of its bytes', () => {
    const bytes = [...'"\\{}[],:-+.eE0123456789 \ntrue/\u007f'].map((character) => character.charCodeAt(0));
    const change = fc.record({ at: fc.nat(), cut: fc.nat(3), put: fc.array(fc.constantFrom(...bytes, 0, 0xc3, 0xbc)) });
    let read = 0;
    fc.assert(
      fc.property(anyText, fc.array(change, { minLength: 1, maxLength: 2 }), (text, changes) => {
        const edited = Array.from(encode(text));
        for (const { at, cut, put } of changes) edited.splice(at % edited.length, cut, ...put.slice(0, 3));
        const found = readOrRefused(Uint8Array.from(edited));
        if (found === null) return;
        read += 1;
        expect(found).toEqual(figuresIn(new TextDecoder().decode(Uint8Array.from(edited))));
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(40);
  });
});

type Figures = [tenant: string, period: string, credits: string, requests: string][];

/** Only a refusal that names its cause counts as one. */
function readOrRefused(body: Uint8Array): Figures | null {
  try {
    return figuresOf(parseUsagePage(body, WHERE).usage);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidResponseError);
    return null;
  }
}

/** The same by a parser that keeps every digit. */
function figuresIn(text: string): Figures {
  const { data } = parse(text, null, {
    parseNumber: exactNumber,
    onDuplicateKey: ({ newValue }) => newValue,
  }) as { data: { usage: Parameters<typeof figuresOf>[0] } };
  return figuresOf(data.usage);
}

/** 1.0 and 1e3 are integers too, however many digits they have; nothing as large as 1e100 is ever read. */
function exactNumber(numeral: string): bigint | number {
  const rounded = Number(numeral);
  if (Math.abs(rounded) > 1e100 || Math.abs(rounded) < 1) return rounded;
  const exact = new Big(numeral);
  return exact.eq(exact.round()) ? BigInt(exact.toFixed(0)) : rounded;
}

function figuresOf(
  usage: readonly { tenant_id: string; period: string; credits_used: unknown; request_count: unknown }[],
): Figures {
  return usage.map((row) => [row.tenant_id, row.period, textOf(row.credits_used), textOf(row.request_count)]);
}

/** Zero has no sign in the ledger. */
function textOf(figureRead: unknown): string {
  return String(figureRead === 0 ? 0 : figureRead);
}

/** The same fields in any order. */
function shuffled<Content extends object>(content: Content): fc.Arbitrary<Content> {
  const entries = Object.entries(content);
  return fc
    .shuffledSubarray(entries, { minLength: entries.length })
    .map((order) => Object.fromEntries(order) as Content);
}
