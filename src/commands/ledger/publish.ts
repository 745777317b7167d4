import type { Command } from 'commander';
import { inertText } from '../../core/text/inert-text.ts';
import { ledgerId, replicaEpoch } from '../../ledger/store/schema/identity.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';
import { requireReplica } from '../shared/require-replica.ts';

export function publishCommand(cli: CliContext): Command {
  return reportingCommand('publish')
    .option('--replace', 'put this ledger in the place of another copy of it that the replica holds')
    .addHelpText('after', examples('usage-ledger publish', 'usage-ledger publish --json'))
    .action(({ replace = false }: { replace?: boolean }) =>
      cli.withContext((context) => publish(cli, context, replace)),
    );
}

async function publish(cli: CliContext, context: Context, replace: boolean): Promise<void> {
  const settings = requireReplica(context.config);
  const [{ Publisher }, { findReplica }] = await Promise.all([
    import('../../publish/publisher.ts'),
    import('../../publish/send/position.ts'),
  ]);
  const { connection } = context.reader();
  const { config, replicaWay } = context;
  const publisher = new Publisher(settings, config.ledger.path, [], replicaWay);
  const started = cli.clock.monotonic();
  try {
    if (replace) {
      const held = await findReplica(await publisher.connect(), ledgerId(connection));
      const epoch = Math.max(held?.epoch ?? 0, replicaEpoch(connection)) + 1;
      // First here: a copy with a lower number than the replica's could not publish any more.
      await (await context.writer()).call('changeReplicaEpoch', { epoch });
    }
    const report = await publisher.publish({ nowMs: cli.now(), replace });
    const { from, to, headDigest, entries, rows, mended, uncounted } = report;
    if (uncounted.length > 0) cli.exitCode = EXIT.partial;
    const seconds = (cli.clock.monotonic() - started) / 1000;
    if (cli.json) {
      const facts = { from, to, head_digest: headDigest, entries, rows, seconds: Number(seconds.toFixed(3)) };
      cli.printJson({ ...facts, mended, uncounted });
      return;
    }
    for (const words of mended) cli.print(`mended in the replica: ${words}`);
    if (rows === 0) cli.print(`nothing to publish: the replica holds link ${formatInteger(to)} of the chain`);
    else {
      const links =
        to === from ? 'what has changed beside the chain' : `links ${formatInteger(from + 1)} to ${formatInteger(to)}`;
      cli.print(
        `published ${links}: ${formatInteger(entries)} entries, ${formatInteger(rows)} rows in ${seconds.toFixed(1)} s`,
      );
    }
    cli.print(`head digest ${headDigest}`);
    for (const words of uncounted) cli.print(`not counted: ${inertText(words)}`);
  } finally {
    await publisher.close();
  }
}
