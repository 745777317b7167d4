import { z } from 'zod';
import { createAnchorChecks, type ExternalAnchors } from '../../ledger/audit/anchor/check-anchors.ts';
import {
  checkpointKeyPath,
  describeMissingCheckpoints,
  formatPublicKey,
  readCheckpointPublicKey,
} from '../../ledger/audit/anchor/checkpoint-log.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import { verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { documentOperation } from '../operation.ts';

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

export const verifyLedger = documentOperation({
  name: 'ledger.verify',
  summary: 'Verify the ledger and its digest chain',
  details:
    'Recomputes every figure and the digest chain, which takes seconds to minutes. Use it only when somebody doubts the ledger.',
  role: 'read',
  input: z.strictObject({
    expect_head: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'expected the 64 hexadecimal digits of a head')
      .transform((digest) => digest.toLowerCase())
      .optional()
      .describe('a head digest stored elsewhere that the chain must contain'),
  }),
  output,
  http: { method: 'GET', path: '/verification' },
  command: 'verify',
  isSlow: true,
  async run({ connection, context }, { expect_head: head }) {
    const { path, checkpointKeyFile = checkpointKeyPath(path) } = context.config.ledger;
    const { record } = await verifyFile({ path, connection, keyFile: checkpointKeyFile }, { head });
    return record;
  },
});

/**
 * Verifies an open ledger, and compares it with digests and checkpoints that were stored elsewhere. `isSigned` of the
 * result is false if there is no key with which the signatures of checkpoints could be checked.
 */
export async function verifyFile(
  { path, connection, keyFile }: { path: string; connection: LedgerDb; keyFile: string },
  anchors: ExternalAnchors,
): Promise<{ record: z.output<typeof output>; isSigned: boolean }> {
  const key = readCheckpointPublicKey(keyFile);
  const { checks, isSigned } = createAnchorChecks(anchors, key);
  const { faults, runs, entries, keys, headDigest } = await verifyLedgerFile(connection, [checkMoney, ...checks]);
  const record = {
    ok: faults.length === 0,
    runs,
    entries,
    keys,
    head_digest: headDigest,
    checkpoint_key: key === null ? null : formatPublicKey(key),
    checkpoints_lost: faults.length > 0 ? null : describeMissingCheckpoints(connection, path, keyFile),
    faults: faults.map(({ check, runId, entryId, message }) => ({ check, run_id: runId, entry_id: entryId, message })),
  };
  return { record, isSigned };
}
