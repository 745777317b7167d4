import { decodeWebhookKey, signWebhook } from '../../alerts/channels/webhook-signature.ts';
import { AppError } from '../../core/errors.ts';
import { sendSplitting } from '../answers.ts';
import { toCloudEvent } from '../events.ts';
import type { Receiver, SendOutcome, UsageEvent } from '../receiver.ts';
import type { ReceiverAnswer, ReceiverDeps } from '../receiver-http.ts';

export interface WebhookOutlet {
  /** The secrets that sign requests. Each request has one signature for each secret. */
  secrets: readonly string[];
  eventsPerRequest: number;
  requestsPerSecond: number;
  /** How long the receiver recognizes the id of an event that it already has. */
  remembersMs: number;
}

/** Creates a receiver that posts usage to a URL as CloudEvents, signed according to Standard Webhooks. */
export function createWebhookReceiver(outlet: WebhookOutlet, { http, clock, ledgerId }: ReceiverDeps): Receiver {
  const keys = outlet.secrets.map(decodeWebhookKey);

  const post = (
    id: string,
    events: readonly UsageEvent[],
    single: boolean,
    signal: AbortSignal,
  ): Promise<ReceiverAnswer> => {
    const all = events.map((event) => toCloudEvent(event, ledgerId));
    const body = JSON.stringify(single ? all[0] : all);
    const seconds = Math.floor(clock.now() / 1000);
    const headers = {
      'content-type': single ? 'application/cloudevents+json' : 'application/cloudevents-batch+json',
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': keys.map((key) => signWebhook(key, id, seconds, body)).join(' '),
    };
    return http.call({ method: 'POST', headers, body }, signal);
  };

  const single = outlet.eventsPerRequest === 1;
  const send = (events: readonly UsageEvent[], signal: AbortSignal): Promise<SendOutcome[]> =>
    sendSplitting(events, async (part) => {
      const first = part[0]?.id ?? ledgerId;
      const id = single ? first : `${first}-${part.length}`;
      return http.outcomeOf(await post(id, part, single, signal));
    });

  return {
    limits: {
      eventsPerCall: outlet.eventsPerRequest,
      callsPerSecond: outlet.requestsPerSecond,
      remembersMs: outlet.remembersMs,
      maxEventAgeMs: null,
      acceptsNegative: true,
      visibleAfterMs: 0,
      sendsBothQuantities: true,
    },
    send,
    usage: async () => null,
    /** Posts an empty batch. A receiver that checks signatures accepts or refuses it like a batch with events. */
    async probe(signal) {
      const outcome = http.outcomeOf(await post(`${ledgerId}-probe`, [], false, signal));
      if (outcome.is === 'accepted' || outcome.is === 'refused') return;
      const code = outcome.is === 'unauthorized' ? 'outlet_unauthorized' : 'outlet_unreachable';
      const hint = 'check the url and secret of the outlet, the network, and that the receiver runs';
      throw new AppError(code, outcome.answer, { hint });
    },
  };
}
