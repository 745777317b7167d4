/** Code that must not be wrong, with the tests that are there to see it: quick ones first, the next only when those pass. */
export interface Target {
  name: string;
  files: readonly string[];
  tests: readonly (readonly string[])[];
}

const runs = 'ledger/journal/runs';

export const TARGETS: readonly Target[] = [
  {
    name: 'signing',
    files: ['usage-api/sign.ts', 'config/signing-scheme.ts'],
    tests: [['usage-api/sign.test.ts'], ['usage-api/signing-against-sandbox.test.ts', 'config/load-mistakes.test.ts']],
  },
  {
    name: 'paging proof',
    files: ['sync/prove.ts', 'sync/plausible.ts', 'sync/walk.ts'],
    tests: [
      ['sync/prove.test.ts', 'sync/walk.test.ts', 'sync/staging-room.test.ts'],
      ['sync/consistency.test.ts', 'sync/moving.test.ts', 'sync/faults.test.ts', 'sync/budget.test.ts'],
    ],
  },
  {
    name: 'apply',
    files: [`${runs}/apply-run.ts`, `${runs}/merge-staged.ts`, `${runs}/absences.ts`, `${runs}/sum-limits.ts`],
    tests: [
      [`${runs}/apply-run.test.ts`, `${runs}/figure-bounds.test.ts`, `${runs}/fencing.test.ts`],
      [
        `${runs}/withdraw.test.ts`,
        'ledger/journal/close/close-adjustments.test.ts',
        'ledger/journal/close/close.test.ts',
      ],
    ],
  },
  { name: 'periods', files: ['core/period.ts'], tests: [['core/period.test.ts']] },
];
