// A process that exports or imports a workspace and may kill itself (SIGKILL) on the way.
// Arguments: `export` LEDGER FILE or `import` FILE LEDGER, then the step before which it kills itself; 0: it does not.
// Sends { steps } when it is done.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import Database from 'better-sqlite3';

const [what, from, to, number] = process.argv.slice(2);
let steps = 0;

/** Every statement and every call that changes files is a step. */
function stepBefore(owner, name) {
  const original = owner[name];
  owner[name] = function (...args) {
    steps += 1;
    if (steps === Number(number)) process.kill(process.pid, 'SIGKILL');
    return original.apply(this, args);
  };
}

for (const name of ['prepare', 'pragma', 'exec', 'close', 'backup']) stepBefore(Database.prototype, name);
for (const name of ['linkSync', 'renameSync', 'rmSync', 'mkdtempSync', 'openSync', 'fsyncSync']) stepBefore(fs, name);
syncBuiltinESMExports();

const nowMs = Date.UTC(2026, 2, 20, 12);
const { signal } = new AbortController();
const { chargePeriod } = await import('../../../../build/ledger/journal/charges/charge-run.js');
const { checkMoney } = await import('../../../../build/ledger/audit/money/verify-money.js');
const given = { price: chargePeriod, checks: [checkMoney] };
if (what === 'export') {
  const { openForWriting } = await import('../../../../build/ledger/store/file/open.js');
  const { sealWorkspace } = await import('../../../../build/ledger/transfer/moving/seal-workspace.js');
  const { exportFile } = await import('../../../../build/ledger/transfer/moving/export-file.js');
  const connection = openForWriting(from);
  sealWorkspace(connection, { workspaceId: 'ws-1', by: 'Ada', nowMs });
  connection.close();
  const request = { workspaceId: 'ws-1', by: 'Ada', nowMs, version: '0.0.0', signal };
  await exportFile({ ...request, ...given, ledgerPath: from, target: to, force: false });
} else {
  const { importFile } = await import('../../../../build/ledger/transfer/moving/import-file.js');
  await importFile({ file: from, ledgerPath: to, by: 'Ada', nowMs, signal, ...given });
}
process.send({ steps }, () => process.disconnect());
