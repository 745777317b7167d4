import type { Config } from '../../config/types.ts';
import { keyFault, keyFileOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { LOST_CHECKPOINTS_REMEDY, lostCheckpoints } from '../../ledger/audit/anchor/last-checkpoint.ts';
import { askLedger } from './check-ledger.ts';
import { type Finding, fail, warn } from './finding.ts';

const KEY_REMEDY = 'correct `ledger.checkpoint_key_file`, or the rights of the file and its folder';

/** Whether heads can be signed, and the log of signed heads is where runs have left it. */
export function checkCheckpoints({ path, checkpointKeyFile = keyFileOf(path) }: Config['ledger']): Finding[] {
  const fault = keyFault(checkpointKeyFile);
  if (fault !== null) return [fail('checkpoints', `no checkpoint can be signed: ${fault}`, KEY_REMEDY)];
  const lost = askLedger(path, (connection) => lostCheckpoints(connection, path, checkpointKeyFile), null);
  return lost === null ? [] : [warn('checkpoints', lost, LOST_CHECKPOINTS_REMEDY)];
}
