import type { OutletConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { ProxySettings } from '../core/net/proxy-options.ts';
import type { Redactor } from '../core/text/redact.ts';
import type { Receiver } from './receiver.ts';
import { ReceiverHttp } from './receiver-http.ts';

export interface OpenDeps {
  ledgerId: string;
  clock: Clock;
  proxy: ProxySettings | null;
  redact: Redactor;
}

/** The receiver of an outlet. Nothing is asked of it yet, and only the code of its type is loaded. */
export async function openReceiver(
  outlet: OutletConfig,
  { ledgerId, clock, proxy, redact }: OpenDeps,
): Promise<{ receiver: Receiver; close: () => Promise<void> }> {
  const http = new ReceiverHttp({ ...outlet, proxy, redact, clock });
  const { createWebhookReceiver } = await import('./types/webhook.ts');
  const receiver = createWebhookReceiver(outlet, { http, clock, ledgerId });
  return { receiver, close: () => http.close() };
}
