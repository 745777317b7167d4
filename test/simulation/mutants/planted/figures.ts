import type { Planted } from './all.ts';

/** What is believed of what a service says, and what stands in the ledger of it. */
export const FIGURES: Planted = {
  'src/sync/run.ts': {
    'nothing-is-believed': [
      'a service that says it has no records empties the month',
      'if (!verified.walk.facts.unchanged) await',
      'if (verified.walk.facts.records > 0) await',
    ],
  },
  'src/sync/judge-walk.ts': {
    'totals-not-compared': [
      'a listing that announces more records than it gives is published',
      "if (facts.distinctKeys !== facts.totalRecords) signs.push('records_missing');",
      "if (facts.distinctKeys > facts.totalRecords) signs.push('records_missing');",
    ],
  },
  'src/sync/withdrawals.ts': {
    'withdrawn-without-asking': [
      'what a listing leaves out twice is withdrawn, although the tenant’s own history has it',
      "periods.has(key.period) ? 'unconfirmed' : 'withdrawals'",
      "periods.has('') ? 'unconfirmed' : 'withdrawals'",
    ],
  },
  'src/ledger/journal/staging/staging.ts': {
    'every-page-is-known': [
      'a listing with as many pages as the last one counts as the same, whatever its figures are',
      'digestAt(this.#known.pageDigests, page).equals(digest);',
      'digestAt(this.#known.pageDigests, page).length === digest.length;',
    ],
  },
  'src/ledger/journal/runs/known-listing.ts': {
    'known-though-absent': [
      'what a service has stopped listing is charged for ever, because its listing stays as it is from then on',
      '  if (hasAbsences(connection, run)) return null;\n',
      '',
    ],
  },
  'src/ledger/journal/runs/absences.ts': {
    'never-withdrawn': [
      'what a service has stopped listing is charged for ever',
      'if (!keys.has(periodKey, tenantKey)) note(connection)',
      'if (keys.has(periodKey, tenantKey)) note(connection)',
    ],
  },
  'src/ledger/journal/runs/apply-run.ts': {
    'withdrawn-in-the-history-only': [
      'the history says that a record is withdrawn, and the state goes on to show it',
      '  updateState(connection, { after: lastMerged, last }, false);\n',
      '',
    ],
  },
};

/** The same, as weeks show it. */
export const FIGURES_OF_WEEKS: Planted = {
  'src/sync/plan.ts': {
    'old-months-left-alone': [
      'what a service corrects in an older month never comes in, because no run asks for it',
      "if (input.first || input.kind === 'reconcile') return",
      'if (input.first) return',
    ],
  },
};
