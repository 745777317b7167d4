import { type Clock, nextTurn, systemClock } from '../../core/clock.ts';
import type { Period } from '../../core/period.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { RunAlertSettings } from '../evaluate/evaluate-run.ts';
import { keepHistory } from '../history/curves.ts';
import { type Comparison, compareStories } from './compare.ts';
import { findHistory, type RecordedHistory, recordedLinks } from './history.ts';
import { countLabelled, type LabelledRule, readLabels } from './labels.ts';
import { Replica } from './replica.ts';
import { readStories } from './stories.ts';

export interface BacktestRequest {
  ledger: LedgerConnection;
  workspaceId: string;
  today: RunAlertSettings;
  /** Settings on trial, at least one; all go through the history at once. */
  proposed: readonly RunAlertSettings[];
  /** The periods whose alerts are compared, both included. The history is replayed from its beginning all the same. */
  window: { from: Period; to: Period };
  signal: AbortSignal;
  clock?: Clock;
  onProgress?: (progress: { runs: number; totalRuns: number }) => void;
}

export interface Backtest {
  history: RecordedHistory;
  /** In the order of the settings on trial. */
  trials: Trial[];
}

/** Settings on trial beside today's. */
export interface Trial {
  comparison: Comparison;
  /** By rule, what each side tells of the alerts that somebody has labelled. */
  labelled: readonly LabelledRule[];
}

/** For so long at a time nothing else gets a turn: a stop signal, a progress bar. */
const TURN_MS = 50;

/**
 * Replays what the ledger has recorded of a workspace under today's settings and under others, through the rules
 * themselves, and compares what they find. The ledger is only read. Silences, plans, acknowledgements and alerts about
 * ourselves are left out on both sides.
 *
 * @throws AppError `no_history` when there is nothing to replay, or what `signal` was aborted with.
 */
export async function backtest(request: BacktestRequest): Promise<Backtest> {
  const { ledger, workspaceId, window, signal, clock = systemClock, onProgress } = request;
  const history = findHistory(ledger, workspaceId);
  const replicas: Replica[] = [];
  try {
    // All replicas ask for the same readings, run after run.
    const source = { ledger, history, kept: keepHistory(ledger, history.workspaceKey) };
    for (const settings of [request.today, ...request.proposed]) replicas.push(new Replica(source, settings));
    let runs = 0;
    let turnEndsMs = clock.monotonic() + TURN_MS;
    for (const link of recordedLinks(ledger, history)) {
      for (const replica of replicas) replica.play(link);
      if (link.action === 'run') runs += 1;
      if (clock.monotonic() < turnEndsMs) continue;
      onProgress?.({ runs, totalRuns: history.runs });
      await nextTurn();
      signal.throwIfAborted();
      turnEndsMs = clock.monotonic() + TURN_MS;
    }
    const [today = [], ...proposed] = replicas.map(({ connection }) => readStories(connection, window));
    const labels = readLabels(ledger, history.workspaceKey, window);
    const trials = proposed.map((side) => {
      const stories = { today, proposed: side };
      return { comparison: compareStories(stories), labelled: countLabelled(labels, stories) };
    });
    return { history, trials };
  } finally {
    for (const replica of replicas) replica.close();
  }
}
