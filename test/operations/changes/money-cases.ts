import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChangeCase } from './change-case.ts';

const LINE = { workspace: 'ws-1', tenant: 'acme', period: '2026-02', amount: '-2.25', currency: 'EUR', reason: 'fee' };

const INVOICES = 'tenant_id,net\nacme,8.50\nglobex,90071992547409.93\n';
const RECONCILED = { period: '2026-01', workspace: 'ws-1', amount_column: 'net', note: 'run 12' };

export const CHANGES_OF_MONEY: Readonly<Record<string, ChangeCase>> = {
  'lines.add': {
    input: () => LINE,
    argv: () => ['lines', 'add', ...Object.entries(LINE).flatMap(([name, value]) => [`--${name}`, value])],
    actors: 'SELECT actor FROM finance_lines',
  },
  'reconciliations.compare': {
    given: ({ folder }) => writeFileSync(join(folder, 'invoices.csv'), INVOICES),
    input: () => ({ ...RECONCILED, file: { name: 'invoices.csv', bytes: Buffer.from(INVOICES) }, dry_run: false }),
    argv: () => [
      ...['reconcile', 'invoices.csv', '--period', '2026-01', '--workspace', 'ws-1', '--amount-column', 'net'],
      ...['--record', '--note', 'run 12'],
    ],
    actors: 'SELECT actor FROM finance_reconciliations',
  },
  'lines.revoke': {
    input: () => ({ line_id: 1, reason: 'a slip' }),
    argv: () => ['lines', 'revoke', '1', '--reason', 'a slip'],
    actors: 'SELECT revoked_by FROM finance_lines',
  },
};
