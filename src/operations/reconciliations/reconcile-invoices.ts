import { changeOperation, runRead } from '../operation.ts';
import { compareInvoices, invoicesInput } from './compare-invoices.ts';
import { reconciliationSchema } from './reconciliation-record.ts';
import { recordComparison } from './record-comparison.ts';

export const reconcileInvoices = changeOperation({
  name: 'reconciliations.compare',
  summary: 'Compare a month of service and ledger with a file of invoices, and record the result',
  role: 'finance',
  input: invoicesInput,
  output: reconciliationSchema,
  http: { method: 'POST', path: '/reconciliations' },
  command: 'reconcile',
  upload: 'file',
  isSlow: true,
  async run(scope, request) {
    const { document, notes, toRecord } = await runRead(scope, compareInvoices, request);
    const recorded: string[] = [];
    for (const comparison of toRecord) recorded.push(...(await recordComparison(scope, comparison, request)));
    return { applied: !request.dry_run, document, notes: [...notes, ...recorded] };
  },
});
