import { webhookKey, webhookSignature } from '../../alerts/channels/webhook-signature.ts';
import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { Outcome, Receiver, UsageEvent } from '../receiver.ts';
import type { Answer, ReceiverDeps } from '../receiver-http.ts';

export interface WebhookOutlet {
  /** Each of them signs. */
  secrets: readonly string[];
  eventsPerRequest: number;
  requestsPerSecond: number;
  /** For how long its receiver counts an id once. */
  remembersMs: number;
}

/** Where a batch is refused, each of its events is tried by itself, so that the others are taken. */
export function createWebhookReceiver(outlet: WebhookOutlet, { http, clock, ledgerId }: ReceiverDeps): Receiver {
  const keys = outlet.secrets.map(webhookKey);

  const post = (id: string, events: readonly UsageEvent[], single: boolean, signal: AbortSignal): Promise<Answer> => {
    const all = events.map((event) => cloudEvent(event, ledgerId));
    const body = JSON.stringify(single ? all[0] : all);
    const seconds = Math.floor(clock.now() / 1000);
    const headers = {
      'content-type': single ? 'application/cloudevents+json' : 'application/cloudevents-batch+json',
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': keys.map((key) => webhookSignature(key, id, seconds, body)).join(' '),
    };
    return http.call({ method: 'POST', headers, body }, signal);
  };

  const send = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<Outcome[]> => {
    const [first] = events;
    if (first === undefined) return [];
    const single = outlet.eventsPerRequest === 1;
    const id = single ? first.id : `${first.id}-${events.length}`;
    const outcome = http.outcomeOf(await post(id, events, single, signal));
    if (outcome.is !== 'refused' || events.length === 1) return events.map(() => outcome);
    const half = Math.ceil(events.length / 2);
    const before = await send(events.slice(0, half), signal);
    return [...before, ...(await send(events.slice(half), signal))];
  };

  return {
    limits: {
      eventsPerCall: outlet.eventsPerRequest,
      callsPerSecond: outlet.requestsPerSecond,
      remembersMs: outlet.remembersMs,
      takesBackMs: null,
      takesNegative: true,
      showsAfterMs: 0,
      carriesBoth: true,
    },
    send,
    usage: async () => null,
    /** A batch of no events: whoever checks the signature answers as to any other. */
    async probe(signal) {
      const outcome = http.outcomeOf(await post(`${ledgerId}-probe`, [], false, signal));
      if (outcome.is === 'taken' || outcome.is === 'refused') return;
      const code = outcome.is === 'unauthorised' ? 'outlet_unauthorised' : 'outlet_unreachable';
      const hint = 'check its url and secret, the network between, and that the receiver runs';
      throw new AppError(code, outcome.answer, { hint });
    },
  };
}

function cloudEvent(event: UsageEvent, ledgerId: string) {
  return {
    specversion: '1.0',
    id: event.id,
    source: ledgerId,
    type: 'usage_ledger.usage.v1',
    subject: event.customer,
    time: isoTime(event.timeMs),
    datacontenttype: 'application/json',
    data: {
      workspace_id: event.workspaceId,
      tenant_id: event.tenantId,
      period: event.period,
      credits: jsonInteger(event.credits),
      requests: jsonInteger(event.requests),
    },
  };
}

/** As a number where every reader has it exactly, else as text. */
function jsonInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
