import { z } from 'zod';
import { formatKey, keyFileOf, missingCheckpoints, publicKeyOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import type { Check } from '../../ledger/audit/verify/fault.ts';
import { verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { document } from '../operation.ts';

const output = z.strictObject({
  ok: z.boolean(),
  runs: z.int(),
  entries: z.int(),
  keys: z.int(),
  head_digest: z.string().nullable(),
  checkpoint_key: z.string().nullable().describe('the public key that signs checkpoints'),
  checkpoints_lost: z.string().nullable().describe('why the log of checkpoints is not complete'),
  faults: z.array(
    z.strictObject({
      check: z.string(),
      run_id: z.string().nullable(),
      entry_id: z.int().nullable(),
      message: z.string(),
    }),
  ),
});

export const verifyLedger = document({
  name: 'ledger.verify',
  summary: 'Verify the ledger and its digest chain',
  details:
    'Recomputes every figure and the digest chain, which takes seconds to minutes. Use it only when somebody doubts the ledger.',
  role: 'read',
  input: z.strictObject({}),
  output,
  http: { method: 'GET', path: '/verification' },
  command: 'verify',
  isSlow: true,
  run({ connection, context }) {
    const { path, checkpointKeyFile = keyFileOf(path) } = context.config.ledger;
    return verifyFile({ path, connection, keyFile: checkpointKeyFile });
  },
});

/** Verifies an open ledger and, with `checks`, that it agrees with what was stored elsewhere. */
export async function verifyFile(
  { path, connection, keyFile }: { path: string; connection: LedgerDb; keyFile: string },
  checks: readonly Check[] = [],
): Promise<z.output<typeof output>> {
  const key = publicKeyOf(keyFile);
  const { faults, runs, entries, keys, headDigest } = await verifyLedgerFile(connection, [checkMoney, ...checks]);
  return {
    ok: faults.length === 0,
    runs,
    entries,
    keys,
    head_digest: headDigest,
    checkpoint_key: key === null ? null : formatKey(key),
    checkpoints_lost: faults.length > 0 ? null : missingCheckpoints(connection, path, keyFile),
    faults: faults.map(({ check, runId, entryId, message }) => ({ check, run_id: runId, entry_id: entryId, message })),
  };
}
