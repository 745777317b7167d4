import { dirname } from 'node:path';
import { sleep } from '../core/clock.ts';
import { AppError, summarizeError } from '../core/errors.ts';
import { freeBytesAt } from '../core/process/disk.ts';
import type { Context } from '../wiring/context.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { describeFreeSpace, UnrecordedFault } from './watches/disk-watch.ts';
import { emergencyNotifier } from './watches/start-watches.ts';

const AGAIN_MS = 10_000;
/** With less free space than this, neither the ledger nor a private Redis can be written. */
const MIN_FREE_BYTES_AT_START = 1024 ** 2;

/**
 * Starts the daemon once the ledger's disk has room. Until then, tries again every ten seconds and sends one emergency
 * notification per channel. Returns null if `signal` is aborted first.
 */
export async function startWhenDiskHasRoom(context: Context, signal: AbortSignal): Promise<Daemon | null> {
  const { clock, logger, config } = context;
  let unrecorded: UnrecordedFault | null = null;
  while (!signal.aborted) {
    const fault = spaceFault(freeBytesAt(dirname(config.ledger.path))) ?? (await tryStart(context, unrecorded));
    if (typeof fault !== 'string') return fault;
    if (unrecorded === null)
      logger.error({ reason: fault }, 'cannot write the ledger: the start waits for free disk space');
    unrecorded ??= new UnrecordedFault(fault);
    await unrecorded.send(emergencyNotifier(context), signal).catch((error: unknown) => {
      logger.error({ reason: summarizeError(error).message }, 'could not send emergency notifications');
    });
    await sleep(clock, AGAIN_MS, signal).catch(() => undefined);
  }
  return null;
}

function spaceFault(bytes: number): string | null {
  return bytes < MIN_FREE_BYTES_AT_START ? describeFreeSpace(bytes) : null;
}

/** Starts the daemon, or returns a description of the disk fault that prevents the start. */
async function tryStart(context: Context, unrecorded: UnrecordedFault | null): Promise<Daemon | string> {
  try {
    return await startDaemon(context, { unrecorded });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'ledger_disk') throw error;
    return `cannot write the ledger: ${error.message}`;
  }
}
