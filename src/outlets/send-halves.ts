import type { Outcome, UsageEvent } from './receiver.ts';

/**
 * Posts the events in one call. Where a call is refused as a whole, its halves are tried by themselves, so that the events
 * that are at fault are found and the others are taken.
 */
export async function sendHalves(
  events: readonly UsageEvent[],
  post: (events: readonly UsageEvent[]) => Promise<Outcome>,
): Promise<Outcome[]> {
  if (events.length === 0) return [];
  const outcome = await post(events);
  if (outcome.is !== 'refused' || events.length === 1) return events.map(() => outcome);
  const half = Math.ceil(events.length / 2);
  const before = await sendHalves(events.slice(0, half), post);
  return [...before, ...(await sendHalves(events.slice(half), post))];
}

/** Sends the events that fit; the others are refused here, with their amount, since the receiver would keep another one. */
export async function sendFitting(
  events: readonly UsageEvent[],
  misfit: (event: UsageEvent) => string | null,
  send: (events: readonly UsageEvent[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const faults = events.map(misfit);
  const sent = (await send(events.filter((_, at) => faults[at] === null))).values();
  return faults.map((answer) => (answer === null ? sent.next().value : { is: 'refused', answer })) as Outcome[];
}
