// A process that restores a backup and may kill itself (SIGKILL) on the way.
// Arguments: backup, ledger, then optionally `kill-at N` (before the Nth step of the exchange of the files) or `no-links`.
// Sends { begun } when the work begins, and { report, steps } when it is done.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import Database from 'better-sqlite3';

const [backup, ledgerPath, mode, number] = process.argv.slice(2);
const killAt = mode === 'kill-at' ? Number(number) : Number.POSITIVE_INFINITY;
let exchanging = false;
let steps = 0;

/** Every call that changes files or locks is a step, from the first try for the exclusive lock on. */
function stepBefore(owner, name) {
  const original = owner[name];
  owner[name] = function (...args) {
    exchanging ||= name === 'pragma' && String(args[0]).includes('EXCLUSIVE');
    if (exchanging) steps += 1;
    if (steps === killAt) process.kill(process.pid, 'SIGKILL');
    return original.apply(this, args);
  };
}

for (const name of ['pragma', 'exec', 'close', 'backup']) stepBefore(Database.prototype, name);
for (const name of ['linkSync', 'renameSync', 'rmSync', 'copyFileSync', 'openSync', 'fsyncSync']) stepBefore(fs, name);
if (mode === 'no-links') {
  fs.linkSync = () => {
    throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' });
  };
}
syncBuiltinESMExports();

const { restoreLedger } = await import('../../../../src/ledger/transfer/backup/restore.ts');
process.send({ begun: true });
const signal = new AbortController().signal;
const report = await restoreLedger({ file: backup, ledgerPath, version: '0.0.0', nowMs: Date.now(), signal });
process.send({ report, steps }, () => process.disconnect());
