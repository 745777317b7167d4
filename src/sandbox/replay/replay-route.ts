import type { WallClock } from '../../core/clock.ts';
import { failure } from '../requests/reply.ts';
import type { UsageRoute } from '../requests/usage-routes.ts';
import type { ScenarioInput } from '../world/scenario-schema.ts';
import type { RecordedAnswer, Recording } from './recording.ts';

/** The workspaces of a recording, empty and with keys that are made up. */
export function replayScenario({ workspaces }: Recording): ScenarioInput {
  return {
    workspaces: workspaces.map(({ id }, index) => ({
      id,
      api_key_id: `ak_replay_${index + 1}`,
      secret_key: `sk_replay_${index + 1}_not_a_secret`,
    })),
  };
}

/**
 * Answers each question as it was answered when it was recorded; one that was asked several times in the order of then, and
 * after the last from the first again. What was never asked is answered with 501.
 */
export function createReplayRoute({ workspaces }: Recording, clock: WallClock): UsageRoute {
  const waiting = new Map<string, RecordedAnswer[]>();
  for (const { id, answers } of workspaces) {
    for (const answer of answers) {
      const key = JSON.stringify([id, answer.tenant, answer.query]);
      waiting.set(key, [...(waiting.get(key) ?? []), answer]);
    }
  }
  return ({ tenantId, rawQuery }, { id }) => {
    const answers = waiting.get(JSON.stringify([id, tenantId, `?${rawQuery}`]));
    const next = answers?.shift();
    if (answers === undefined || next === undefined) return failure(501, 'The recording has no answer to this');
    answers.push(next);
    const headers = { Date: new Date(clock.now() + next.clock_ahead_seconds * 1000).toUTCString() };
    if (next.status >= 300) return failure(next.status, 'As recorded', headers);
    return { status: next.status, body: next.body ?? 'not recorded: this could not be read as JSON', headers };
  };
}
