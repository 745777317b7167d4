import { z } from 'zod';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { documentOperation } from '../operation.ts';

export const readHead = documentOperation({
  name: 'head.read',
  summary: 'Show the head of the digest chain: it changes with every recorded change',
  details:
    'Shows whether anything has changed since an earlier answer. Use it also to compare the ledger with a digest that was kept elsewhere.',
  role: 'read',
  input: z.strictObject({}),
  output: z.strictObject({
    ledger_id: z.string(),
    link: z.int().describe('the number of links'),
    head_digest: z.string(),
  }),
  http: { method: 'GET', path: '/head' },
  command: null,
  run({ connection }) {
    const { seq, digest } = headOfChain(connection);
    return { ledger_id: ledgerId(connection), link: seq, head_digest: digest };
  },
});
