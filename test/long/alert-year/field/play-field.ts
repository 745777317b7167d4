import { playWorld, type Reading } from '../play.ts';
import { type Scorecard, scoreMessages } from '../score/scorecard.ts';
import { readSentMessages, type SentMessage } from '../score/sent.ts';
import { Truth } from '../score/truth.ts';
import { createFieldWorld, type FieldOrder, type FieldWorld } from './field-world.ts';

/** A played world with its ledger at a path, and what is needed to score a method on it. */
export interface PlayedField {
  world: FieldWorld;
  readings: Reading[];
  /** Time that the runs took. */
  seconds: number;
  /** Scores what the program sent. */
  program: Scorecard;
  /** Scores the messages of a method that knows neither severity nor a list of open alerts. */
  scoreRival(messages: readonly SentMessage[]): Scorecard;
}

/** Lets the ledger at `path` go through the world that is ordered. */
export async function playField(order: FieldOrder, path: string): Promise<PlayedField> {
  const world = createFieldWorld(order);
  const { readings, elapsedMs, openAlerts } = await playWorld(world, path);
  const judged = { world, truth: new Truth(world, readings), causes: world.causes };
  return {
    world,
    readings,
    seconds: elapsedMs / 1_000,
    program: scoreMessages({ ...judged, messages: readSentMessages(path), openAlerts, hasSeverity: true }),
    scoreRival: (messages) => scoreMessages({ ...judged, messages, openAlerts: null, hasSeverity: false }),
  };
}
