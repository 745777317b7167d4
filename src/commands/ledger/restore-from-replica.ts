import { inertText } from '../../core/text/inert-text.ts';
import { connectReplica } from '../../publish/connect.ts';
import { chooseLedger } from '../../publish/receive/choose-ledger.ts';
import { restoreFromReplica } from '../../publish/receive/restore-from-replica.ts';
import { requireCurrentReplica } from '../../publish/replica/migrate-replica.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import type { CliContext } from '../shared/cli-context.ts';
import { requireReplica } from '../shared/require-replica.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { replacedLines } from './replaced-lines.ts';

/** `restore --from-replica`. */
export async function restoreFromReplicaHere(
  cli: CliContext,
  { config, version, replicaWay }: Context,
  { ledger, replaceOther }: { ledger: string | undefined; replaceOther: boolean },
): Promise<void> {
  const settings = requireReplica(config);
  const ledgerPath = config.ledger.path;
  const client = await connectReplica(settings, replicaWay);
  try {
    await requireCurrentReplica(client, settings.schema);
    const ledgerId =
      ledger ??
      (await chooseLedger(
        client,
        config.workspaces.map(({ id }) => id),
      ));
    const { runs, entries, headDigest, position, headAt, replaced } = await withStopSignal((signal) =>
      restoreFromReplica({ client, ledgerId, ledgerPath, replaceOther, version, nowMs: cli.now(), signal }),
    );
    if (cli.json) {
      cli.printJson({
        ...{
          ledger: ledgerPath,
          ledger_id: ledgerId,
          runs,
          entries,
          position,
          head_digest: headDigest,
          head_at: headAt,
        },
        replaced: replaced === null ? null : { path: replaced.path, head_digest: replaced.headDigest },
      });
      return;
    }
    cli.print(`restored ${inertText(ledgerPath)} from the replica, ledger ${ledgerId}`);
    cli.print(`no fault in ${formatInteger(runs)} applied runs, ${formatInteger(entries)} entries`);
    cli.print(`link ${formatInteger(position)} of ${headAt}, head digest ${headDigest}`);
    for (const line of replacedLines(replaced)) cli.print(line);
    cli.note(
      'Older copies of this ledger are refused by the replica from now on; what came after that link is read again.',
    );
  } finally {
    await client.close();
  }
}
