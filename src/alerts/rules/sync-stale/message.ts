import type { CauseMessage } from '../message.ts';

export const syncStaleMessage: Readonly<Record<'', CauseMessage>> = {
  '': {
    found: (where) => `The figures of ${where} are outdated`,
    ended: (where) => `The figures of ${where} are complete again`,
    todo: 'Run `usage-ledger doctor`; other alerts wait until the figures are complete.',
  },
};
