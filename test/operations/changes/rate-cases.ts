import { OTHER_CARD } from '../ledger-of-operations.ts';
import type { ChangeCase } from './change-case.ts';

export const CHANGES_OF_RATES: Readonly<Record<string, ChangeCase>> = {
  'rates.apply': {
    input: () => ({ rates: [OTHER_CARD], dry_run: false }),
    argv: () => ['rates', 'apply', 'dearer.yml', '--yes'],
    actors: null,
    withoutBy: true,
    // The second time, these cards are active already.
    changesWhenRepeated: true,
  },
  'rates.clear': {
    input: () => ({ dry_run: false }),
    argv: () => ['rates', 'clear', '--yes'],
    actors: null,
    withoutBy: true,
    changesWhenRepeated: true,
  },
};
