import type { OutletConfig } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import { type OutletRow, readOutlet } from '../../ledger/journal/outlets/outlet-book.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { openReceiver } from '../../outlets/open-receiver.ts';
import type { Receiver } from '../../outlets/receiver.ts';
import type { Scope } from '../operation.ts';
import { chooseOutlet } from './chosen-outlets.ts';

/**
 * Returns the ledger's row for a started outlet, even if the outlet is no longer configured. Throws UsageError if the
 * outlet was not started.
 */
export function requireStartedOutlet({ context, connection }: Scope, name: string): OutletRow {
  const row = readOutlet(connection, name);
  if (row !== undefined) return row;
  chooseOutlet(context.config, name);
  throw new UsageError(
    `outlet ${name} is not started`,
    `run \`usage-ledger outlets start ${name}\`, which shows what would be sent`,
  );
}

/** Opens the receiver of an outlet, calls `use` with the receiver, and closes the receiver. */
export async function withReceiver<T>(
  { context, connection }: Scope,
  outlet: OutletConfig,
  use: (receiver: Receiver) => Promise<T>,
): Promise<T> {
  const { clock, config, redact, outletDispatcher: dispatcher } = context;
  const deps = { ledgerId: ledgerId(connection), clock, proxy: config.proxy, redact, dispatcher };
  const { receiver, close } = openReceiver(outlet, deps);
  try {
    return await use(receiver);
  } finally {
    await close();
  }
}
