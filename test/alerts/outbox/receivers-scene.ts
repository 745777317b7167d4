import { addSilence } from '../../../src/alerts/actions.ts';
import { composeDueMessages } from '../../../src/alerts/outbox/compose-due.ts';
import { notifyChannels } from '../../../src/alerts/outbox/notify-channels.ts';
import { type ChannelRoute, toRoutes } from '../../../src/alerts/pipeline/route.ts';
import { clear, holds, type Judgement } from '../../../src/alerts/rules/judgement.ts';
import { observation } from '../../../src/alerts/rules/observation.ts';
import { AlertBook } from '../../../src/alerts/state/alert-book.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { type Answer, answerWaiting } from '../../support/messages.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { notifying, setRoutes } from '../../support/run/real-run.ts';
import { NOON } from '../../support/time/test-clock.ts';

const DAY_MS = 86_400_000;
export const JUMPS = holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: 16_000n });
export const GONE = clear(true);
const PERIOD = '2026-03';

export const ROUTES = toRoutes([{ type: 'log', name: 'a' }]).map((route) => ({
  ...route,
  followUps: 'at_once' as const,
}));
const TOGETHER: Record<string, (event: string) => string> = {
  'alert.group': (event) => `${event} together`,
  'alert.digest': () => 'summary',
};
export const TAKEN = 'accepted';
export const REFUSED = 'refused';
export const UNKNOWN = 'unknown';
export const DEAD = 'exhausted';

/** A ledger with one tenant, whose jump a test says to hold or not, and receivers that answer what it says. */
export async function world() {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 16_000)], { nowMs: NOON - DAY_MS });
  const state = {
    nowMs: NOON,
    set channels(routes: readonly ChannelRoute[]) {
      setRoutes(connection, routes, state.nowMs);
    },
  };
  state.channels = ROUTES;
  const context = () => ({
    ...{ connection, workspaceKey: 1, workspaceId: 'ws-1', runKey: null, runId: null, actor: 'timer' as const },
    ...{ seeding: false, at: isoTime(state.nowMs), ...notifying(connection, state.nowMs) },
  });
  const look = (judgement: Judgement, credits = 16_000n) => {
    const book = new AlertBook(context());
    const subject = { rule: 'jump' as const, periodKey: periodKeyOf(1, PERIOD), tenantKey: 1 };
    const figures = { previous: { credits: 10_000n, requests: 1n }, current: { credits, requests: 1n } };
    book.observe(observation({ ...subject, ...figures, threshold: 15_000n, judgement }));
    return notifyChannels(book);
  };
  const inbox: { id: string; channel: string; event: string; revision: number }[] = [];
  const deliver = (answer: Answer) => {
    for (const { id, channel, payload } of answerWaiting(connection, answer, state.nowMs)) {
      const { event, type, revision } = payload;
      inbox.push({ id, channel, event: TOGETHER[type]?.(event) ?? event, revision });
    }
    state.nowMs += 2;
  };
  /** As a daemon looks; returns how many messages it makes. */
  const ask = () => composeDueMessages(connection, notifying(connection, state.nowMs));
  const pass = (ms: number) => {
    state.nowMs += ms;
    ask();
  };
  const heard = (channel = 'a') => inbox.filter((each) => each.channel === channel).map(({ event }) => event);
  const mute = (upToCredits: bigint | null, untilMs: number) =>
    addSilence(connection, {
      ...{ kind: upToCredits === null ? 'silence' : 'plan', workspaceId: null, rule: '*', tenant: '*', period: '*' },
      ...{ upToCredits, untilMs, reason: 'known', by: 'Ada', nowMs: state.nowMs },
    });
  return { connection, state, context, look, deliver, ask, pass, heard, inbox, mute };
}
