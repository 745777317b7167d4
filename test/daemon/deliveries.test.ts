import { expect, onTestFinished, test } from 'vitest';
import { testPayload } from '../../src/alerts/notify/test-message.ts';
import type { DeliveryOutcome } from '../../src/alerts/outbox/deliver.ts';
import type { WaitingNotification } from '../../src/alerts/outbox/outbox.ts';
import type { ChannelConfig } from '../../src/config/types.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { Deliveries } from '../../src/daemon/deliveries.ts';
import { openForWriting } from '../../src/ledger/store/file/open.ts';
import { type Receiver, startReceiver } from '../alerts/channels/receiver.ts';
import { recordingLogger } from '../queue/support.ts';
import { eventually } from '../support/eventually.ts';
import { messages, plantMessage } from '../support/messages.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';

const DAY_MS = 86_400_000;
const TIMES = { graceMs: 1_000, deadlineMs: 2_000 };

interface Sent {
  row: WaitingNotification;
  signal: AbortSignal;
  end(outcome: DeliveryOutcome | Error): void;
}

/** Messages in memory, whose receivers answer when the test says so. */
function play(rows: WaitingNotification[], mayDeliver = (_id: string) => true) {
  const clock = createVirtualClock(0);
  const { logger, lines } = recordingLogger();
  const sent: Sent[] = [];
  let digests = 0;
  const deliveries = new Deliveries({
    ...{ clock, logger, mayDeliver },
    async composeDue() {
      digests += 1;
    },
    waiting: (limit) => [...Map.groupBy(rows, ({ channel }) => channel).values()].flatMap((own) => own.slice(0, limit)),
    deliver: (notificationId, signal) =>
      new Promise((resolve, reject) => {
        const row = rows.find((candidate) => candidate.notificationId === notificationId);
        if (row === undefined) throw new Error(`${notificationId} is no message`);
        const end: Sent['end'] = (outcome) => {
          if (outcome instanceof Error) return reject(outcome);
          if (outcome.state === 'pending') attempted(row, outcome.attempt, clock.now(), outcome.delayMs);
          else rows.splice(rows.indexOf(row), 1);
          resolve(outcome);
        };
        sent.push({ row, signal, end });
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  const ids = () => sent.map(({ row }) => row.notificationId);
  return { clock, lines, sent, ids, rows, deliveries, digests: () => digests };
}

const due = (channel: string, count: number, nextAttemptAtMs = 0): WaitingNotification[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ notificationId: `${channel}-${index}`, channel, nextAttemptAtMs },
    ...{ attempts: 0, attemptsBefore: 0, waitMs: 0 },
  }));

/** What the ledger says after an attempt that failed by a clock that showed `nowMs`. */
function attempted(row: WaitingNotification, attempts: number, nowMs: number, waitMs: number): void {
  Object.assign(row, { attempts, waitMs, nextAttemptAtMs: nowMs + waitMs });
}

test('a channel whose receiver hangs keeps no other waiting', async () => {
  const { clock, ids } = play([...due('slow', 9), ...due('fast', 1)]);
  await clock.advance(1);
  expect(ids()).toEqual(['slow-0', 'slow-1', 'slow-2', 'slow-3', 'fast-0']);
  await clock.advance(60_000);
  expect(ids()).toHaveLength(5);
});

test('each that has ended gives its slot to the next, however many there are', async () => {
  const { clock, sent, rows } = play(due('hook', 2_500));
  await clock.advance(1);
  for (let index = 0; index < 2_500; index += 1) {
    sent[index]?.end({ state: 'delivered' });
    if (index % 4 === 3) await clock.advance(0);
  }
  expect(rows).toEqual([]);
  expect(sent).toHaveLength(2_500);
  expect(clock.monotonic()).toBe(1);
});

test('what nobody took is tried again when the ledger says, to the moment', async () => {
  const { clock, sent, ids } = play(due('hook', 1));
  await clock.advance(1);
  sent[0]?.end({ state: 'pending', attempt: 1, delayMs: 4_321, reason: 'HTTP 503' });
  await clock.advance(4_320);
  expect(ids()).toEqual(['hook-0']);
  await clock.advance(1);
  expect(ids()).toEqual(['hook-0', 'hook-0']);
  // Later than the next sweep: that one sees to it.
  sent[1]?.end({ state: 'pending', attempt: 2, delayMs: 50_000, reason: 'HTTP 503' });
  await clock.advance(49_999);
  expect(ids()).toHaveLength(2);
  await clock.advance(1);
  expect(ids()).toHaveLength(3);
});

test('what another process has tried rests as long as was meant, though its clock had the wait end long ago', async () => {
  const { clock, rows, ids } = play(due('hook', 1, 20_000));
  await clock.advance(1);
  const [row] = rows;
  if (row === undefined) throw new Error('nothing waits');
  attempted(row, 1, clock.now() - 40 * DAY_MS, 90_000);
  await clock.advance(30_000);
  expect(ids()).toEqual([]);
  await clock.advance(79_000);
  expect(ids()).toEqual([]);
  await clock.advance(2_000);
  expect(ids()).toEqual(['hook-0']);
});

test('what a person replays does not wait for the end of its rest', async () => {
  const { clock, sent, rows } = play(due('hook', 1));
  await clock.advance(1);
  sent[0]?.end({ state: 'pending', attempt: 1, delayMs: 6 * 3_600_000, reason: 'HTTP 404' });
  await clock.advance(60_000);
  expect(sent).toHaveLength(1);
  Object.assign(rows[0] ?? {}, { attemptsBefore: 1, waitMs: 0, nextAttemptAtMs: clock.now() });
  await clock.advance(30_000);
  expect(sent).toHaveLength(2);
});

test('the death of one has the others looked for at once: another channel is told of it', async () => {
  const { clock, sent, ids, rows } = play(due('hook', 1));
  await clock.advance(1);
  rows.push(...due('mail', 1));
  sent[0]?.end({ state: 'dead', reason: 'HTTP 404', channel: 'hook', disabled: false, told: [] });
  await clock.advance(0);
  expect(ids()).toEqual(['hook-0', 'mail-0']);
});

test('what fails in the ledger rests until the next sweep, with what waits behind it', async () => {
  const { clock, sent, ids, lines } = play(due('hook', 20));
  await clock.advance(1);
  for (const { end } of [...sent]) end(new Error('the disk is full'));
  await clock.advance(29_998);
  expect(ids()).toHaveLength(4);
  expect(lines.join()).toContain('the disk is full');
  await clock.advance(1);
  expect(ids()).toHaveLength(8);
});

test('a stop begins no more, cuts off what is under way when the grace is over, and is soon done', async () => {
  const { clock, sent, ids, deliveries, digests } = play(due('hook', 20));
  await clock.advance(1);
  let stopped = false;
  const stop = deliveries.stop(TIMES).then(() => {
    stopped = true;
  });
  await clock.advance(999);
  sent[0]?.end({ state: 'delivered' });
  expect(sent[1]?.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(sent[1]?.signal.reason).toMatchObject({ code: 'stopping' });
  await stop;
  expect(stopped).toBe(true);
  expect(ids()).toHaveLength(4);
  await deliveries.sweep();
  await clock.advance(120_000);
  expect(ids()).toHaveLength(4);
  expect(digests()).toBe(1);
});

test('a webhook that hangs does not delay the critical message of another channel', async () => {
  const hangs = await startReceiver(() => undefined);
  const takes = await startReceiver((response) => response.writeHead(204).end());
  const hook = (name: string, { url, close }: Receiver): ChannelConfig => {
    onTestFinished(close);
    return { type: 'webhook', name, url, secrets: [], allowPrivate: true, timeoutMs: 30_000 };
  };
  const fixture = await startFixture({ thread: true, channels: [hook('hangs', hangs), hook('takes', takes)] });
  await fixture.sync();
  const connection = openForWriting(fixture.config.ledger.path);
  onTestFinished(() => void connection.close());
  const at = new Date(fixture.clock.now()).toISOString();
  const add = (channel: string, number: number): void => {
    const id = `msg_${String(number).padStart(32, '0')}`;
    const text = testPayload({ notificationId: id, channel: 'x', createdAt: at });
    plantMessage(connection, { id, channel, text, state: 'pending', createdAt: at });
  };
  for (let number = 0; number < 12; number += 1) add('hangs', number);
  add('takes', 12);
  const startedMs = performance.now();
  const daemon = await startDaemon(fixture.context);
  onTestFinished(() => daemon.stop());
  await eventually(() => expect(takes.received).toHaveLength(1), 15_000);
  expect(hangs.received.length).toBeGreaterThan(0);
  await daemon.stop();
  // Nobody waited until a request to the one that hangs was given up.
  expect(performance.now() - startedMs).toBeLessThan(25_000);
  const left = messages(fixture.view()).filter(({ claimedUntil }) => claimedUntil === null);
  expect(left).toHaveLength(13);
  expect(left.filter(({ channel }) => channel === 'hangs')).toMatchObject(
    Array(12).fill({ channel: 'hangs', state: 'pending', attempts: 0 }),
  );
});
