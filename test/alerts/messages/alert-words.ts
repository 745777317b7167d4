import type { Channel } from '../../../src/alerts/channels/channel.ts';
import { deliverNotification } from '../../../src/alerts/channels/deliver.ts';
import { composeDueMessages } from '../../../src/alerts/outbox/compose-due.ts';
import { claimDelivery, recordAttempt } from '../../../src/alerts/outbox/deliveries.ts';
import { findDueDeliveries, nextDueMs } from '../../../src/alerts/outbox/due.ts';
import { notifyChannels } from '../../../src/alerts/outbox/notify-channels.ts';
import { clear, holds } from '../../../src/alerts/rules/judgement.ts';
import { observation } from '../../../src/alerts/rules/observation.ts';
import { AlertBook } from '../../../src/alerts/state/alert-book.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { LOG_ROUTES, notifying, setRoutes } from '../../support/run/real-run.ts';
import { NOON } from '../../support/time/test-clock.ts';

export const HOUR_MS = 3_600_000;
export const TENANTS = Number(process.env.ALERT_TENANTS ?? 200);

/** What a receiver has been told of one tenant, in the order of its arrival. */
export interface Word {
  tenant: string;
  event: string;
  level: string;
  credits: number;
  atMs: number;
}

/** A ledger with many tenants of 10,000 credits last month, and what becomes of each of them. */
export async function world() {
  const { connection } = openLedger();
  const names = Array.from({ length: TENANTS }, (_, index) => `tenant-${String(index).padStart(4, '0')}`);
  await publish(
    connection,
    names.map((name) => usageRecord(name, 16_000)),
    { nowMs: NOON - HOUR_MS },
  );
  setRoutes(connection, LOG_ROUTES);
  const state = { nowMs: NOON };
  /** As a run does: of each tenant its credits now, null where the cause is gone. */
  const look = (creditsOf: (index: number) => bigint | null): void => {
    const book = new AlertBook({
      ...{ connection, workspaceKey: 1, workspaceId: 'ws-1', runKey: null, runId: null, actor: 'timer' },
      ...{ seeding: false, at: isoTime(state.nowMs), ...notifying(connection, state.nowMs), priceOf: () => null },
    });
    const threshold = 15_000n;
    for (const index of names.keys()) {
      const magnitude = creditsOf(index);
      const judgement =
        magnitude === null ? clear(true) : holds({ level: 'happened', severity: 'critical', threshold, magnitude });
      const figures = {
        previous: { credits: 10_000n, requests: 1n },
        current: { credits: magnitude ?? 0n, requests: 1n },
      };
      const subject = { rule: 'jump' as const, periodKey: periodKeyOf(1, '2026-03'), tenantKey: index + 1 };
      book.observe(observation({ ...subject, ...figures, threshold, judgement }));
    }
    notifyChannels(book);
  };
  /** As a daemon sweeps, until nothing is due now. */
  const send = async (channel: Pick<Channel, 'deliver'>): Promise<void> => {
    const channels = new Map([['log', { name: 'log', type: 'webhook', ...channel }]]);
    const access = {
      whyDisabled: () => null,
      claim: async (request: { notificationId: string; nowMs: number }) =>
        claimDelivery(connection, { ...request, ...notifying(connection, request.nowMs) }),
      record: async (record: Parameters<typeof recordAttempt>[1]) => recordAttempt(connection, record),
    };
    const deps = { access, channels, clock: { now: () => state.nowMs }, random: () => 0 };
    for (;;) {
      composeDueMessages(connection, notifying(connection, state.nowMs));
      const due = findDueDeliveries(connection, { channels: ['log'], limit: 1000, nowMs: state.nowMs });
      if (due.length === 0) return;
      for (const { notificationId } of due)
        await deliverNotification(deps, notificationId, new AbortController().signal);
    }
  };
  /** Sends what becomes due until then. */
  const sendUntil = async (endMs: number, channel: Pick<Channel, 'deliver'>): Promise<void> => {
    for (;;) {
      await send(channel);
      const dueMs = nextDueMs(connection, state.nowMs);
      if (dueMs === null || dueMs > endMs) break;
      state.nowMs = dueMs;
    }
    state.nowMs = endMs;
  };
  return { connection, state, names, look, send, sendUntil };
}

export function wordsIn(payload: string, atMs: number): Word[] {
  const message = JSON.parse(payload);
  // biome-ignore lint/suspicious/noExplicitAny: an expectation on a wrong shape fails by itself
  const told: any[] = message.alerts ?? [message];
  return told
    .flatMap((one) => one.notifications ?? [one])
    .map((told) => ({
      tenant: told.tenant_id,
      event: told.event,
      level: told.level,
      credits: told.credits?.current ?? 0,
      atMs,
    }));
}
