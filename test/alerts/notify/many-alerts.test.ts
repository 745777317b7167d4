import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Channel, DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { deliverNotification } from '../../../src/alerts/channels/deliver.ts';
import { createWebhookChannel } from '../../../src/alerts/channels/webhook-channel.ts';
import { clear, holds } from '../../../src/alerts/measures/judgement.ts';
import { observation } from '../../../src/alerts/measures/observation.ts';
import { AlertBook } from '../../../src/alerts/notify/alert-book.ts';
import { compose } from '../../../src/alerts/notify/compose.ts';
import { claimDelivery, recordAttempt } from '../../../src/alerts/notify/deliveries.ts';
import { dueDeliveries, nextDueMs } from '../../../src/alerts/notify/due.ts';
import { isoTime, systemClock } from '../../../src/core/clock.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { countByState, owedMessages } from '../../support/messages.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { LOG_ROUTES, notifying, setRoutes } from '../../support/run/real-run.ts';
import { NOON } from '../../support/time/test-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TENANTS = Number(process.env.ALERT_TENANTS ?? 200);
const KIB = 1024;
const EXTREME = Math.floor(TENANTS / 3);

/** What a receiver has been told of one tenant, in the order of its arrival. */
interface Word {
  tenant: string;
  event: string;
  level: string;
  credits: number;
  atMs: number;
}

/** A ledger with many tenants of 10,000 credits last month, and what becomes of each of them. */
async function world() {
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
      const measure = creditsOf(index);
      const judgement =
        measure === null ? clear(true) : holds({ level: 'happened', severity: 'critical', threshold, measure });
      const figures = {
        previous: { credits: 10_000n, requests: 1n },
        current: { credits: measure ?? 0n, requests: 1n },
      };
      const subject = { rule: 'jump' as const, periodKey: periodKeyOf(1, '2026-03'), tenantKey: index + 1 };
      book.observe(observation({ ...subject, ...figures, threshold, judgement }));
    }
    book.finish();
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
      compose(connection, notifying(connection, state.nowMs));
      const due = dueDeliveries(connection, { channels: ['log'], limit: 1000, nowMs: state.nowMs });
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

/** A receiver over HTTP that takes bodies of so many bytes and answers 413 to others without having read them, and what it took. */
async function receiver(mostBytes: number, refuse: (request: IncomingMessage, response: ServerResponse) => void) {
  const taken: string[] = [];
  let refused = 0;
  const server = createServer(async (request, response) => {
    if (Number(request.headers['content-length']) > mostBytes) {
      refused += 1;
      refuse(request, response);
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    taken.push(Buffer.concat(chunks).toString());
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const settings = { name: 'log', url, secrets: [], allowPrivate: true, timeoutMs: 10_000 };
  const channel = createWebhookChannel(settings, { clock: systemClock });
  return { channel, taken, refused: () => refused };
}

function wordsIn(payload: string, atMs: number): Word[] {
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

/** Express answers and lets the connection go on; nginx answers, and closes once it has read what comes. */
const RECEIVERS = {
  'Express, 100 kB': { mostBytes: 100 * KIB, refuse: (_request, response) => response.writeHead(413).end() },
  'nginx, 1 MiB': {
    mostBytes: KIB * KIB,
    refuse: (request, response) => {
      response.writeHead(413, { connection: 'close' }).end('<html>413 Request Entity Too Large</html>');
      request.resume();
    },
  },
} satisfies Record<string, { mostBytes: number; refuse: (request: IncomingMessage, response: ServerResponse) => void }>;

test.each(Object.entries(RECEIVERS))(
  'many tenants jump: %s is told of each once, and at once of the one that is far out of line',
  async (_name, { mostBytes, refuse }) => {
    const { connection, state, names, look, send, sendUntil } = await world();
    const { channel, taken, refused } = await receiver(mostBytes, refuse);
    look((index) => (index === EXTREME ? 2_000_000n : 16_000n + BigInt(index)));
    await send(channel);
    const words = taken.flatMap((payload) => wordsIn(payload, state.nowMs));
    expect(words.map(({ tenant }) => tenant).sort()).toEqual(names);
    expect(new Set(words.map(({ event }) => event))).toEqual(new Set(['opened']));
    expect(JSON.parse(taken[0] ?? '')).toMatchObject({ type: 'alert.firing', tenant_id: names[EXTREME] });
    expect(taken.length).toBeLessThanOrEqual(5 + TENANTS / 45);
    expect(refused()).toBeLessThan(25);
    expect(Math.max(...taken.map((payload) => Buffer.byteLength(payload)))).toBeLessThanOrEqual(mostBytes);
    await sendUntil(NOON + HOUR_MS, channel);
    expect(words.length).toBe(TENANTS);
    expect(owedMessages(connection)).toEqual([]);
  },
);

test('a channel that is away for three days while alerts change hears what is so when it is back', async () => {
  const { connection, state, names, look, sendUntil } = await world();
  const words: Word[] = [];
  let isAway = false;
  let messages = 0;
  const deliver = async ({ payload }: { payload: string }): Promise<DeliveryResult> => {
    if (isAway) return { outcome: 'retry', reason: 'HTTP 503', retryAfterMs: null, unknown: false };
    messages += 1;
    words.push(...wordsIn(payload, state.nowMs));
    return { outcome: 'delivered', detail: 'taken' };
  };
  look((index) => (index % 2 === 0 ? 16_000n : null));
  await sendUntil(NOON + HOUR_MS, { deliver });
  expect(words.length).toBe(TENANTS / 2);
  isAway = true;
  // Of six kinds: goes on, is gone, grows; never was, begins, comes and goes.
  const day = (which: number) => (index: number) => {
    const begun = [16_000n, null, 16_000n * BigInt(which + 1), null, 17_000n, which === 2 ? null : 18_000n];
    return [begun[0], begun[3], begun[1], begun[4], begun[2], begun[5]][index % 6] ?? null;
  };
  for (const which of [1, 2, 3]) {
    look(day(which));
    await sendUntil(NOON + which * DAY_MS, { deliver });
    look(day(which));
    await sendUntil(NOON + which * DAY_MS + 6 * HOUR_MS, { deliver });
  }
  const heardBefore = words.length;
  isAway = false;
  messages = 0;
  await sendUntil(NOON + 5 * DAY_MS, { deliver });
  expect(heardBefore).toBe(TENANTS / 2);
  expect(messages).toBeLessThanOrEqual(5 + TENANTS / 45);
  const last = new Map(words.map((word) => [word.tenant, word]));
  for (const [index, tenant] of names.entries()) {
    const so = day(3)(index);
    const heard = last.get(tenant);
    if (so === null) expect([tenant, heard?.event ?? 'closed']).toEqual([tenant, 'closed']);
    else expect([tenant, heard?.event === 'closed', BigInt(heard?.credits ?? 0)]).toEqual([tenant, false, so]);
  }
  expect(countByState(connection).owed ?? 0).toBe(0);
});
