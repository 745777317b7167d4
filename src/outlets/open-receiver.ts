import type { Dispatcher } from 'undici';
import type { OutletConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Redactor } from '../core/text/redact.ts';
import type { ProxySettings } from '../net/proxy.ts';
import type { Receiver } from './receiver.ts';
import { type ReceiverDeps, ReceiverHttp } from './receiver-http.ts';
import { createLagoReceiver } from './types/lago.ts';
import { createMetronomeReceiver } from './types/metronome.ts';
import { createOpenMeterReceiver } from './types/openmeter.ts';
import { createStripeReceiver, meterStreamUrl } from './types/stripe.ts';
import { createWebhookReceiver } from './types/webhook.ts';

export interface OpenReceiverDeps {
  ledgerId: string;
  clock: Clock;
  proxy: ProxySettings | null;
  redact: Redactor;
  dispatcher?: Dispatcher | undefined;
}

/** Creates the receiver of an outlet. Makes no request. */
export function openReceiver(
  outlet: OutletConfig,
  { ledgerId, clock, proxy, redact, dispatcher }: OpenReceiverDeps,
): { receiver: Receiver; close: () => Promise<void> } {
  const http = new ReceiverHttp({ ...outlet, proxy, redact, clock, dispatcher });
  const receiver = createReceiver(outlet, { http, clock, ledgerId });
  return { receiver, close: () => http.close() };
}

function createReceiver(outlet: OutletConfig, deps: ReceiverDeps): Receiver {
  switch (outlet.type) {
    case 'webhook':
      return createWebhookReceiver(outlet, deps);
    case 'stripe': {
      const { token, meter, url } = outlet;
      return createStripeReceiver({ token, meter, streamUrl: meterStreamUrl(url) }, deps);
    }
    case 'metronome':
      return createMetronomeReceiver(outlet, deps);
    case 'openmeter':
      return createOpenMeterReceiver(outlet, deps);
    case 'lago':
      return createLagoReceiver(outlet, deps);
  }
}
