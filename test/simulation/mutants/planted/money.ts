import type { Planted } from './all.ts';

/** What is charged, and by which cards. */
export const MONEY: Planted = {
  'src/ledger/journal/charges/charge-run.ts': {
    'closed-months-repriced': [
      'new rate cards change what closed months cost',
      'const open = query(connection).select().from(periods).where(isNull(periods.closedSeq));',
      'const open = query(connection).select().from(periods);',
    ],
    'estimates-by-old-cards': [
      'new rate cards change nothing of what open months are said to cost',
      'periods: rates.added + rates.retired > 0 ? chargeOpenPeriods(connection) : [],',
      'periods: [],',
    ],
    'corrections-unbooked': [
      'what the service changes of a closed month is charged to nobody',
      '  correctByRun(connection, run);\n',
      '',
    ],
  },
  'src/ledger/journal/charges/corrections.ts': {
    'charged-twice-by-a-reopen': [
      'a month that is reopened keeps what was booked of it elsewhere, beside its estimate',
      'for (const difference of book.differences(key)) {',
      'for (const difference of book.differences(key).slice(1)) {',
    ],
    'withdrawn-and-charged': [
      'a tenant that is withdrawn from a closed month goes on to owe its minimum',
      'const present = now !== undefined && now.withdrawn === 0;',
      'const present = now !== undefined;',
    ],
  },
  'src/ledger/journal/charges/card-store.ts': {
    'no-rates-retire-all': [
      'a daemon whose configuration has no rates takes all cards out of force',
      '=> (cards?.length === 0 ? null : cards);',
      '=> cards ?? [];',
    ],
  },
  'src/billing/rates/charge.ts': {
    'volume-by-the-first-tier': [
      'a tenant in the second tier of a volume price is billed by the first',
      'else if (isLast) lines.push(priceTier(tier, credits));',
      'else if (tier === 1) lines.push(priceTier(tier, credits));',
    ],
  },
};
