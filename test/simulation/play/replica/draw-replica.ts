import type { Random } from '../../../support/random.ts';
import { REPLICA_EDITS } from '../../world/postgres/edits.ts';
import { SERVER_FAULTS } from '../../world/postgres/server.ts';
import type { Cast, Drawn } from '../draw-happenings.ts';
import type { Happening } from '../happening.ts';

const MINUTE_MS = 60_000;

type OfReplica = Extract<Happening, { kind: 'replica' | 'replica_edit' | 'publish' }>;
type What = OfReplica extends infer Kind
  ? Kind extends OfReplica
    ? Omit<Kind, 'id' | 'atMs' | 'during'>
    : never
  : never;

/** Something that happens to the replica. */
export function drawOfReplica(random: Random, kind: OfReplica['kind']): What {
  if (kind === 'publish') return { kind };
  if (kind === 'replica_edit') return { kind, edit: random.pick(REPLICA_EDITS), which: random.below(1_000) };
  return {
    ...{ kind, fault: random.pick(SERVER_FAULTS), nth: random.between(1, 60) },
    probability: random.pick([0.05, 0.3, 1]),
    forMs: random.pick([2, 9, 25, 50]) * MINUTE_MS,
  };
}

/** What goes wrong with the replica, and with who publishes to it just then. In half of all worlds nobody edits it. */
export function drawReplica(random: Random, { forMs }: Cast): Drawn[] {
  const isEdited = random.chance(0.5);
  const drawn: Drawn[] = [];
  for (let left = random.between(2, 7); left > 0; left -= 1) {
    const atMs = random.below(forMs);
    const kinds = [
      'replica',
      'replica',
      'replica',
      'publish',
      ...(isEdited ? (['replica_edit'] as const) : []),
    ] as const;
    const during = random.chance(0.5) ? inPublication(random) : null;
    drawn.push({ ...drawOfReplica(random, random.pick(kinds)), atMs, during });
  }
  for (let left = random.between(0, 3); left > 0; left -= 1) {
    const when = { atMs: random.below(forMs), during: inPublication(random) };
    drawn.push(
      random.chance(0.6)
        ? { ...when, kind: 'kill', afterSteps: random.between(1, 30), reboot: random.chance(0.3) }
        : { ...when, kind: 'freeze', forMs: random.pick([3, 20, 60]) * MINUTE_MS },
    );
  }
  return drawn.sort((a, b) => a.atMs - b.atMs);
}

/** Most of the questions of a daemon's first publication ask what is there; the later ones send. */
function inPublication(random: Random): NonNullable<Drawn['during']> {
  return { step: 'publication', nth: random.pick([random.between(1, 20), random.between(20, 400)]) };
}
