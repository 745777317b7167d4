import type { Planted } from './planted.ts';

/** What is charged, and by which cards. */
export const MONEY: readonly Planted[] = [
  {
    name: 'closed-months-repriced',
    harm: 'new rate cards change what closed months cost',
    edits: [
      {
        file: 'src/ledger/journal/charges/charge-run.ts',
        from: 'const open = query(connection).select().from(periods).where(isNull(periods.closedSeq));',
        to: 'const open = query(connection).select().from(periods);',
      },
    ],
  },
  {
    name: 'estimates-by-old-cards',
    harm: 'new rate cards change nothing of what open months are said to cost',
    edits: [
      {
        file: 'src/ledger/journal/charges/set-cards.ts',
        from: 'periods: change.added + change.retired > 0 ? chargeOpenPeriods(connection) : []',
        to: 'periods: []',
      },
    ],
  },
  {
    name: 'corrections-unbooked',
    harm: 'what the service changes of a closed month is charged to nobody',
    edits: [
      {
        file: 'src/ledger/journal/charges/charge-run.ts',
        from: '  correctByRun(connection, run);',
        to: '  if (lastEntryIdBefore < 0) correctByRun(connection, run);',
      },
    ],
  },
  {
    name: 'charged-twice-by-a-reopen',
    harm: 'a month that is reopened keeps what was booked of it elsewhere, beside its estimate',
    edits: [
      {
        file: 'src/ledger/journal/charges/corrections.ts',
        from: 'for (const difference of book.differences(key)) {',
        to: 'for (const difference of book.differences(key).slice(1)) {',
      },
    ],
  },
  {
    name: 'withdrawn-and-charged',
    harm: 'a tenant that is withdrawn from a closed month goes on to owe its minimum',
    edits: [
      {
        file: 'src/ledger/journal/charges/corrections.ts',
        from: 'const present = now !== undefined && now.withdrawn === 0;',
        to: 'const present = now !== undefined;',
      },
    ],
  },
  {
    name: 'no-rates-retire-all',
    harm: 'a daemon whose configuration has no rates takes all cards out of force',
    edits: [
      {
        file: 'src/daemon/configured-rates.ts',
        from: '  const { rates } = config;\n  if (rates === null || rates.length === 0) return;',
        to: '  const rates = config.rates ?? [];',
      },
    ],
  },
];
