import { dirname } from 'node:path';
import { sleep } from '../core/clock.ts';
import { AppError, summarizeError } from '../core/errors.ts';
import { freeBytesAt } from '../core/process/disk.ts';
import type { Context } from '../wiring/context.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { freeWords, UnwrittenFault } from './disk-watch.ts';
import { pastLedger } from './upkeep.ts';

const AGAIN_MS = 10_000;
/** With less neither the ledger nor a private Redis can be written. */
const START_LEAST_BYTES = 1024 ** 2;

/**
 * Starts the daemon once the disk of the ledger has room. As long as it has none, each channel is told so, once, past the ledger,
 * and the start is tried again every ten seconds. Null: `signal` was aborted meanwhile.
 */
export async function startWithRoom(context: Context, signal: AbortSignal): Promise<Daemon | null> {
  const { clock, logger, config } = context;
  let unwritten: UnwrittenFault | null = null;
  while (!signal.aborted) {
    const fault = faultOf(freeBytesAt(dirname(config.ledger.path))) ?? (await tryStart(context, unwritten));
    if (typeof fault !== 'string') return fault;
    if (unwritten === null) logger.error({ reason: fault }, 'the ledger cannot be written: the start waits for room');
    unwritten ??= new UnwrittenFault(fault);
    await unwritten.tell(pastLedger(context), signal).catch((error: unknown) => {
      logger.error({ reason: summarizeError(error).message }, 'nobody could be told of it');
    });
    await sleep(clock, AGAIN_MS, signal).catch(() => undefined);
  }
  return null;
}

function faultOf(bytes: number): string | null {
  return bytes < START_LEAST_BYTES ? freeWords(bytes) : null;
}

/** In words what the disk has against it. */
async function tryStart(context: Context, unwritten: UnwrittenFault | null): Promise<Daemon | string> {
  try {
    return await startDaemon(context, { unwritten });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'ledger_disk') throw error;
    return `it cannot be written: ${error.message}`;
  }
}
