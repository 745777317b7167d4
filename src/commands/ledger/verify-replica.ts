import { inertText } from '../../core/text/inert-text.ts';
import type { NoteVerifier } from '../../ledger/audit/anchor/signed-note.ts';
import { connectReplica } from '../../publish/connect.ts';
import { verifyReplica } from '../../publish/receive/verify-replica.ts';
import { requireCurrentReplica } from '../../publish/replica/migrate-replica.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, EXIT } from '../shared/cli-context.ts';
import { requireReplica } from '../shared/require-replica.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { faultRecord, placeOf } from './fault-words.ts';

/** `verify --replica`. */
export async function verifyReplicaHere(
  cli: CliContext,
  context: Context,
  verifier: NoteVerifier | null,
  others: readonly NoteVerifier[],
): Promise<void> {
  const { config, version } = context;
  const settings = requireReplica(config);
  const { connection } = context.reader();
  const client = await connectReplica(settings, context.replicaWay);
  try {
    await requireCurrentReplica(client, settings.schema);
    const report = await withStopSignal((signal) =>
      verifyReplica({
        ...{ client, connection, ledgerPath: config.ledger.path, elsewhere: [], verifier, others },
        ...{ version, nowMs: cli.now(), signal },
      }),
    );
    const { faults, runs, entries, keys, headDigest, position, behind, checkpoints, unproven } = report;
    if (faults.length > 0) cli.exitCode = EXIT.fault;
    if (cli.json) {
      cli.printJson({
        ...{ ok: faults.length === 0, runs, entries, keys, position, behind, checkpoints, head_digest: headDigest },
        faults: faults.map(faultRecord),
        unproven,
      });
      return;
    }
    for (const fault of faults) cli.print(`FAULT ${fault.check}: ${placeOf(fault)}${inertText(fault.message)}`);
    const counts = `${formatInteger(runs)} applied runs, ${formatInteger(entries)} entries, ${formatInteger(keys)} keys`;
    const same = behind === 0 ? 'as the ledger has them' : `as the ledger had them ${formatInteger(behind)} links ago`;
    cli.print(faults.length === 0 ? `no fault in the replica: ${counts}, ${same}` : `checked ${counts}`);
    for (const words of unproven) cli.print(`NOT PROVEN ${inertText(words)}`);
    cli.print(`link ${formatInteger(position)}, head digest ${headDigest}`);
    if (faults.length > 0) {
      cli.note('Keep both as they are for an inquiry; a backup or a kept checkpoint says which of them was rewritten.');
      cli.note(
        'Where the ledger is right, `usage-ledger publish` mends the schema, and `publish --replace` sends all rows anew.',
      );
    }
  } finally {
    await client.close();
  }
}
