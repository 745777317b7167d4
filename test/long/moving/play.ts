import type { Consistency } from '../../../src/config/types.ts';
import { AppError } from '../../../src/core/errors.ts';
import { type Bench, type FreshWorkspace, syncAll } from './bench.ts';
import { keyOf, MovingService, textOfKeys } from './moving-service.ts';
import type { Schedule } from './schedule.ts';

/** How a run over a moving listing ended, in the oracle's eyes. */
export interface Verdict {
  /** `published`, or the code of the error with which the run applied nothing. */
  outcome: string;
  /** The published keys were never those of the service at any moment of the run. */
  neverTrue: boolean;
  /** Published keys that had left and come back between their last two readings. */
  returned: string[];
  /** Whatever else must not be. */
  faults: string[];
  /** What happened, line by line. */
  trace: readonly string[];
}

/** What is published of one workspace. */
interface Published {
  /** Credits and requests of each key that is not withdrawn. */
  usage: Map<string, string>;
  /** All views as text. */
  text: string;
}

const VIEWS = ['usage', 'period_totals', 'period_changes', 'history', 'adjustments', 'charges', 'alerts'];

/** Plays a schedule under one run of a fresh workspace and judges what the ledger made of it. */
export async function play(bench: Bench, schedule: Schedule, consistency: Consistency): Promise<Verdict> {
  const workspace = await bench.workspace(schedule, consistency);
  const service = new MovingService(workspace.upstream, schedule);
  let vanished: string | null = null;
  if (schedule.known) {
    await syncAll(workspace);
    vanished = service.vanish();
  }
  const before = publishedOf(workspace);
  const { sandbox } = workspace.fixture;
  service.strike(sandbox);
  service.begin();
  const { outcome, runId } = await outcomeOf(syncAll(workspace));
  service.end();
  sandbox.faults.clear();
  const after = publishedOf(workspace);
  const { trace } = service;
  if (outcome !== 'published') {
    const faults = before.text === after.text ? [] : [`the run ended as ${outcome}, but what is published has changed`];
    return { outcome, neverTrue: false, returned: [], faults: [...faults, ...unexpected(outcome, schedule)], trace };
  }
  const brought = schedule.known ? keysOfRun(workspace, runId) : [...after.usage.keys()];
  return {
    outcome,
    neverTrue: !service.truths.has(textOfKeys(brought)),
    returned: brought.filter((key) => service.returned.has(key)),
    faults: [...valueFaults(service, brought, after), ...keptFaults(brought, before, after, vanished)],
    trace,
  };
}

async function outcomeOf(run: Promise<{ runId: string }>): Promise<{ outcome: string; runId: string }> {
  try {
    const { runId } = await run;
    return { outcome: 'published', runId };
  } catch (error) {
    if (error instanceof AppError) return { outcome: error.code, runId: '' };
    throw error;
  }
}

/** A run may only fail for a reason that the schedule gives it. */
function unexpected(outcome: string, { outage }: Schedule): string[] {
  const reasons = ['unstable', 'suspicious_empty', ...(outage?.forEver === true ? ['server_error'] : [])];
  return reasons.includes(outcome) ? [] : [`the run ended as ${outcome}, for which there was no reason`];
}

/** Each value must be the one that the service gave last in this run. */
function valueFaults({ readings }: MovingService, brought: readonly string[], { usage }: Published): string[] {
  return brought
    .filter((key) => readings.get(key)?.value !== usage.get(key))
    .map((key) => `${key} is ${usage.get(key)}, but was last given as ${readings.get(key)?.value}`);
}

/** Absence is not deletion: what the run did not bring stays as it was, and nothing else is there. */
function keptFaults(
  brought: readonly string[],
  before: Published,
  after: Published,
  vanished: string | null,
): string[] {
  const expected = new Map(before.usage);
  for (const key of brought) expected.set(key, after.usage.get(key) ?? '');
  const faults = [...new Set([...expected.keys(), ...after.usage.keys()])]
    .filter((key) => expected.get(key) !== after.usage.get(key))
    .map((key) => `${key} should be ${expected.get(key)} and is ${after.usage.get(key)}`);
  if (vanished !== null && !after.usage.has(vanished)) faults.push(`${vanished}, which had vanished, is gone`);
  return faults;
}

function publishedOf({ view, id }: FreshWorkspace): Published {
  const usage = new Map<string, string>();
  for (const row of view.rows('SELECT * FROM finance_usage WHERE workspace_id = ? AND withdrawn = 0', id)) {
    usage.set(keyOf(String(row.tenant_id), String(row.period)), `${row.credits_used}/${row.request_count}`);
  }
  // An alert about ourselves says that a run failed; that is no usage.
  const own = "AND rule NOT IN ('sync_stale', 'sync_failed', 'job_failed')";
  const rows = VIEWS.map((name) =>
    view.rows(`SELECT * FROM finance_${name} WHERE workspace_id = ? ${name === 'alerts' ? own : ''}`, id),
  );
  return {
    usage,
    text: rows
      .flat()
      .map((row) => Object.values(row).join(' '))
      .sort()
      .join('\n'),
  };
}

/** The keys of the run's accepted walk: every value had changed before it, so each of them left an entry. */
function keysOfRun({ view }: FreshWorkspace, runId: string): string[] {
  const entries = view.rows('SELECT tenant_id, period FROM finance_history WHERE run_id = ?', runId);
  return entries.map((row) => keyOf(String(row.tenant_id), String(row.period)));
}
