import type { Dispatcher } from 'undici';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { OutboundPolicy } from '../../net/address-guard.ts';
import type { AgentOptions } from '../../net/dispatcher.ts';
import { trustHint } from './post-json.ts';

export interface TrialOptions extends AgentOptions {
  policy: OutboundPolicy;
  clock?: Clock;
}

/** A receiver does not answer, so that nothing could be delivered to it. */
export class UnreachableError extends AppError {
  constructor(reason: string, hint = 'check its address, the network and proxy between, and that its receiver runs') {
    super('unreachable', reason, { retryable: true, hint });
  }
}

/**
 * Connects to a receiver as a delivery does, with its policy, proxy and certificates, and sends nothing. Raises
 * UnreachableError and AddressRefusedError.
 */
export async function tryConnection(
  url: URL,
  { policy, clock = systemClock, ...options }: TrialOptions,
): Promise<void> {
  const { guardedAgent } = await import('../../net/dispatcher.ts');
  const dispatcher = guardedAgent(policy, options);
  try {
    await connected(dispatcher, url, clock, options.timeoutMs);
  } catch (error) {
    if (error instanceof AppError) throw error;
    // The code alone: messages may quote what a proxy was sent.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new UnreachableError(`no connection (${code})`, HINTS[code] ?? (trustHint(code).slice(2) || undefined));
  } finally {
    void dispatcher.destroy();
  }
}

const HINTS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'check the name in its address, and that this machine resolves names',
};

/** undici says that a request begins once its connection stands, and before a byte of it is written. */
function connected(dispatcher: Pick<Dispatcher, 'dispatch'>, url: URL, clock: Clock, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = () => reject(Object.assign(new Error('no connection in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' }));
    const cancel = clock.after(timeoutMs, late);
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        cancel();
        resolve();
        controller.abort(new Error('nothing is sent'));
      },
      onResponseError(_controller, error) {
        cancel();
        reject(error);
      },
    };
    dispatcher.dispatch({ origin: url.origin, path: '/', method: 'HEAD' }, handler);
  });
}
