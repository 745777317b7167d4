import type { Config } from '../../config/types.ts';
import { keyFileOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { LOST_CHECKPOINTS_REMEDY, lostCheckpoints } from '../../ledger/audit/anchor/last-checkpoint.ts';
import { askLedger } from './check-ledger.ts';
import { type Finding, warn } from './finding.ts';

/** Whether the log of signed heads is where runs have left it. */
export function checkCheckpoints({ path, checkpointKeyFile = keyFileOf(path) }: Config['ledger']): Finding[] {
  const lost = askLedger(path, (connection) => lostCheckpoints(connection, path, checkpointKeyFile), null);
  return lost === null ? [] : [warn('checkpoints', lost, LOST_CHECKPOINTS_REMEDY)];
}
