import type { Config, OutletConfig } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import { type OutletRow, readOutlet } from '../../ledger/journal/outlets/outlet-book.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { openReceiver } from '../../outlets/open-receiver.ts';
import type { Receiver } from '../../outlets/receiver.ts';
import type { Context } from '../../wiring/context.ts';

export function chosenOutlets({ outlets }: Config, name?: string): readonly OutletConfig[] {
  if (outlets.length === 0) {
    throw new UsageError('the configuration has no `outlets:`', 'add them as docs/billing-systems.md shows');
  }
  const chosen = outlets.filter((outlet) => name === undefined || outlet.name === name);
  if (chosen.length > 0) return chosen;
  const known = outlets.map((outlet) => outlet.name).join(', ');
  throw new UsageError(`there is no outlet ${JSON.stringify(name)}`, `use one of ${known}`);
}

export function chosenOutlet(config: Config, name: string): OutletConfig {
  const [outlet] = chosenOutlets(config, name);
  if (outlet === undefined) throw new UsageError(`there is no outlet ${JSON.stringify(name)}`);
  return outlet;
}

/** Returns the ledger's record of a started outlet, also when it is no longer configured. Throws UsageError otherwise. */
export function requireStarted(context: Context, name: string): OutletRow {
  const row = readOutlet(context.reader().connection, name);
  if (row !== undefined) return row;
  chosenOutlet(context.config, name);
  throw new UsageError(
    `outlet ${name} is not started`,
    `run \`usage-ledger outlets start ${name}\`, which shows what would be sent`,
  );
}

export async function withReceiver<T>(
  context: Context,
  outlet: OutletConfig,
  use: (receiver: Receiver) => Promise<T>,
): Promise<T> {
  const { clock, config, redact, outletDispatcher: dispatcher } = context;
  const { connection } = context.reader();
  const deps = { ledgerId: ledgerId(connection), clock, proxy: config.proxy, redact, dispatcher };
  const { receiver, close } = openReceiver(outlet, deps);
  try {
    return await use(receiver);
  } finally {
    await close();
  }
}
