import type { Dispatcher } from 'undici';
import type { OutletConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { ProxySettings } from '../core/net/proxy-options.ts';
import type { Redactor } from '../core/text/redact.ts';
import type { Receiver } from './receiver.ts';
import { type ReceiverDeps, ReceiverHttp } from './receiver-http.ts';

export interface OpenDeps {
  ledgerId: string;
  clock: Clock;
  proxy: ProxySettings | null;
  redact: Redactor;
  dispatcher?: Dispatcher | undefined;
}

/** The receiver of an outlet. Nothing is asked of it yet, and only the code of its type is loaded. */
export async function openReceiver(
  outlet: OutletConfig,
  { ledgerId, clock, proxy, redact, dispatcher }: OpenDeps,
): Promise<{ receiver: Receiver; close: () => Promise<void> }> {
  const http = new ReceiverHttp({ ...outlet, proxy, redact, clock, dispatcher });
  const receiver = await createReceiver(outlet, { http, clock, ledgerId });
  return { receiver, close: () => http.close() };
}

async function createReceiver(outlet: OutletConfig, deps: ReceiverDeps): Promise<Receiver> {
  switch (outlet.type) {
    case 'webhook':
      return (await import('./types/webhook.ts')).createWebhookReceiver(outlet, deps);
    case 'stripe': {
      const { createStripeReceiver, streamUrlOf } = await import('./types/stripe.ts');
      const { token, meter, url } = outlet;
      return createStripeReceiver({ token, meter, streamUrl: streamUrlOf(url) }, deps);
    }
    case 'metronome':
      return (await import('./types/metronome.ts')).createMetronomeReceiver(outlet, deps);
    case 'openmeter':
      return (await import('./types/openmeter.ts')).createOpenMeterReceiver(outlet, deps);
    case 'lago':
      return (await import('./types/lago.ts')).createLagoReceiver(outlet, deps);
  }
}
