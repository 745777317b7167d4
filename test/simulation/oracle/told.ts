import type { Received } from '../world/receiver.ts';
import type { SimulatedService } from '../world/service.ts';
import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

/** What the oracle reads of a message, by the published schema. */
interface Message {
  type: string;
  alert_id?: string;
  rule?: string;
  state?: 'firing' | 'resolved';
  workspace_id?: string | null;
  tenant_id?: string | null;
  reason?: string | null;
  summary?: string;
}

/** What is so of a workspace, by the world's time. */
export interface WorkspaceTruth {
  /** When it could last be read completely; null: never. */
  lastRunMs: number | null;
  staleAfterMs: number;
}

/** A look comes late, a message takes its time. */
const SLACK_MS = 15 * 60_000;

/** What a receiver got: no two messages under one id, no secret in any, and none that was not so when it was made. */
export class ToldOracle {
  readonly #payloads = new Map<string, string>();
  /** The last word of each alert, by receiver. */
  readonly #lastWords = new Map<string, Message>();
  readonly #secrets: readonly string[];

  constructor(services: Iterable<SimulatedService>) {
    this.#secrets = [...services].map(({ secretKey }) => secretKey);
  }

  /** `truth` is null while any clock is wrong, or was of late: nobody can say what such a daemon should think. */
  check(received: Received, truth: ((workspaceId: string) => WorkspaceTruth) | null): void {
    const { notificationId, payload } = received;
    const known = this.#payloads.get(notificationId) ?? payload;
    this.#payloads.set(notificationId, payload);
    if (known !== payload) throw new PromiseBroken('an id is one message', notificationId);
    for (const secret of this.#secrets) {
      if (payload.includes(secret)) throw new PromiseBroken('no secret is told', notificationId);
    }
    const message = JSON.parse(payload) as Message;
    if (message.alert_id !== undefined) this.#lastWords.set(`${received.channel} ${message.alert_id}`, message);
    if (message.rule === 'sync_failed' && /fenced|taken workspace/.test(`${message.reason} ${message.summary}`)) {
      throw new PromiseBroken('a take-over is nobody’s fault', payload);
    }
    if (truth === null || message.rule !== 'sync_stale' || message.state !== 'firing' || known !== payload) return;
    const { lastRunMs, staleAfterMs } = truth(message.workspace_id ?? '');
    if (lastRunMs !== null && received.atMs - lastRunMs < staleAfterMs - SLACK_MS) {
      throw new PromiseBroken(
        'an alert is real',
        `${message.workspace_id} was read at ${new Date(lastRunMs).toISOString()}: ${message.summary}`,
      );
    }
  }

  /**
   * Once everything has been quiet for a while and every receiver has taken what it was sent. `faithful` are the receivers
   * that took everything all the time.
   */
  checkAtRest(ledger: LedgerView, inbox: readonly Received[], faithful: readonly string[], nowMs: number): void {
    const [late] = ledger.all<{ notification_id: string; channel: string; next_attempt_at: string }>(
      "SELECT notification_id, channel, next_attempt_at FROM outbox WHERE state = 'pending' AND next_attempt_at < ?",
      new Date(nowMs - 3_600_000).toISOString(),
    );
    if (late !== undefined) {
      throw new PromiseBroken(
        'what is due is sent',
        `${late.notification_id} to ${late.channel} was due at ${late.next_attempt_at}`,
      );
    }
    const arrived = new Set(inbox.map(({ notificationId, channel }) => `${channel} ${notificationId}`));
    const lost = ledger
      .all<{ notification_id: string; channel: string }>(
        "SELECT notification_id, channel FROM outbox WHERE state = 'delivered'",
      )
      .find(({ notification_id, channel }) => !arrived.has(`${channel} ${notification_id}`));
    if (lost !== undefined) throw new PromiseBroken('what counts as delivered has arrived', lost.notification_id);
    for (const [key, { rule, state, workspace_id }] of this.#lastWords) {
      if (!faithful.some((name) => key.startsWith(`${name} `)) || state !== 'firing') continue;
      if (rule !== 'sync_stale' && rule !== 'sync_failed') continue;
      throw new PromiseBroken(
        'the last word that a receiver heard is what is so',
        `${key}: ${rule} of ${workspace_id} fires still`,
      );
    }
  }
}

/** For the trace. */
export function inShort({ channel, payload }: Received): string {
  const { type, rule, state, workspace_id, tenant_id } = JSON.parse(payload) as Message;
  return [channel, type, rule, state, workspace_id, tenant_id].filter((part) => part !== undefined).join(' ');
}
