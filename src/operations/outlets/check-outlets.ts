import { z } from 'zod';
import { checkOutlet } from '../../outlets/read-back.ts';
import { documentOperation } from '../operation.ts';
import { idText, periodText } from '../schemas.ts';
import { chooseOutlets } from './chosen-outlets.ts';
import { requireStartedOutlet, withReceiver } from './started-outlet.ts';

const difference = z.strictObject({
  period: periodText,
  customer: z.string(),
  ledger: z.string().describe('the quantity that was sent'),
  receiver: z.string().describe('the quantity that the receiver has'),
  tenants: z.array(z.strictObject({ workspace_id: z.string(), tenant_id: z.string() })),
  entry_ids: z.array(z.int()).describe('the last entries of these tenants and month, newest first'),
});

export const checkOutlets = documentOperation({
  name: 'outlets.check',
  summary: 'Compare a month in the receivers with what was sent',
  details:
    'Shows whether a billing system has what was sent in a month. It asks the receivers, so it takes seconds; outlets_list answers from the ledger alone.',
  role: 'read',
  input: z.strictObject({
    period: periodText.describe('the month'),
    name: idText.optional().describe('only this outlet'),
  }),
  output: z.strictObject({
    outlets: z.array(
      z.strictObject({
        name: z.string(),
        period: periodText,
        customers: z.int().nullable().describe('compared customers; null if the receiver cannot be queried'),
        differences: z.array(difference),
      }),
    ),
  }),
  http: { method: 'GET', path: '/outlets/check' },
  command: 'outlets check',
  async run(scope, { period, name }) {
    const { connection, signal } = scope;
    const outlets = [];
    for (const outlet of chooseOutlets(scope.context.config, name)) {
      requireStartedOutlet(scope, outlet.name);
      const found = await withReceiver(scope, outlet, (receiver) =>
        checkOutlet({ outlet, receiver, connection }, period, signal),
      );
      outlets.push({ name: outlet.name, period, ...found });
    }
    return { outlets };
  },
});
