import type Database from 'better-sqlite3';
import { routesOf } from '../../../src/alerts/notify/routes.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/resolve/resolve-alerts.ts';
import { AppError } from '../../../src/core/errors.ts';
import type { CloseRefusedError } from '../../../src/ledger/journal/close/close-period.ts';
import type { WalkRecord, WalkVerdict } from '../../../src/ledger/journal/runs/walks.ts';
import { judgeWalk } from '../../../src/sync/prove.ts';
import { carryOut, type Result } from '../../../src/writer/commands/command-table.ts';
import type { Desk } from '../../../src/writer/commands/desk.ts';
import { plainDesk } from '../../../src/writer/open-desk.ts';
import { WorkspaceModel } from './ledger-model.ts';
import type { Listing, ModelRun, Range, Reason } from './model-parts.ts';
import type { RunStep, Step, WalkOf } from './steps.ts';
import { datesOf, PERIODS, pageBodies, TENANTS, Upstream } from './upstream.ts';

/** The ledger's lease, said again: the model must not ask the ledger. */
const LEASE_MS = 60_000;
const ALERTS = {
  rules: { ...DEFAULT_ALERT_RULES, tenants: [] },
  channels: routesOf([{ type: 'log', name: 'log' }]),
  lookbackPeriods: 2,
  settleHours: 48,
};
/** How the sentences of a refusal begin. */
const REASONS: [RegExp, Reason][] = [
  [/^it is not over/, 'not_over'],
  [/^it settles for/, 'settling'],
  [/^no complete walk/, 'no_walk'],
  [/^two complete walks/, 'no_second_walk'],
  [/^\d+ of its records are missing/, 'absent'],
];

/** The walks that a run makes, by what must be made of each. */
const VERDICTS: Record<WalkOf, WalkVerdict[]> = {
  once: ['accepted'],
  twice: ['unconfirmed', 'accepted'],
  after_a_broken_one: ['moved', 'accepted'],
  broken: ['moved', 'moved', 'moved'],
  empty: ['accepted'],
};

interface Asleep {
  model: ModelRun;
  runKey: number;
  walk: WalkRecord;
  listing: Listing;
  gone: Result<'absentAgain'>;
}

/** What both accounts say happened in a step. */
export interface Outcome {
  ledger: unknown;
  model: unknown;
}

/** Takes the ledger and the model through the same history, as `syncWorkspace` would, and notes what each makes of it. */
export class LedgerDriver {
  readonly models = [new WorkspaceModel('ws-1'), new WorkspaceModel('ws-2')] as const;
  /** How often which outcome was met. */
  readonly met = new Map<string, number>();
  nowMs = Date.UTC(2025, 11, 1, 12);
  readonly #upstreams = [new Upstream('ws-1'), new Upstream('ws-2')] as const;
  readonly #asleep: [Asleep[], Asleep[]] = [[], []];
  #desk: Desk;

  constructor(connection: Database.Database) {
    this.#desk = plainDesk(connection);
  }

  /** From now on everything happens to another ledger, to which what this one held was moved. */
  moveTo(connection: Database.Database): void {
    this.#desk = plainDesk(connection);
  }

  /** Every comparison that the step gives rise to; the two sides of each must be equal. */
  take(step: Step): Outcome[] {
    switch (step.do) {
      case 'wait':
        this.nowMs += step.ms;
        return [];
      case 'run':
        return this.#run(step);
      case 'wake':
        return this.#wake(step.workspace);
      case 'close':
        return this.#close(step);
      case 'reopen':
        return this.#reopen(step);
    }
  }

  #run(step: RunStep): Outcome[] {
    const model = this.models[step.workspace === 0 ? 0 : 1];
    const upstream = this.#upstreams[step.workspace === 0 ? 0 : 1];
    this.nowMs += step.pauseMs;
    for (const change of step.changes) upstream.apply(change);
    const limits = [step.from, step.to].map((index) => (index === null ? null : (PERIODS[index] ?? null)));
    const [from = null, to = null] = limits;
    const range: Range = from !== null && to !== null && from > to ? { from: to, to: from } : { from, to };
    const held = model.isHeld(this.nowMs);
    const claimed = attempt(() =>
      carryOut(this.#desk, 'claimRun', {
        workspaceId: model.id,
        workspaceName: model.id,
        kind: 'manual',
        slot: null,
        window: range,
        nowMs: this.nowMs,
      }),
    );
    if (held || !('value' in claimed) || !('runKey' in claimed.value)) {
      this.#meet('lease held');
      return [{ ledger: 'code' in claimed ? claimed.code : 'claimed', model: held ? 'lease_held' : 'claimed' }];
    }
    const { runKey, runId } = claimed.value;
    const run = model.claim(runId, range, this.nowMs, LEASE_MS);
    const listing: Listing = step.walk === 'empty' ? { usage: new Map(), pages: 1 } : upstream.listing(range);

    const startedAtMs = this.nowMs;
    this.nowMs += step.walkMs;
    const outcomes: Outcome[] = [];
    let last: WalkRecord | null = null;
    for (const [index, verdict] of VERDICTS[step.walk].entries()) {
      const bodies = pageBodies(model.id, listing, verdict === 'moved' ? 1 : 0);
      carryOut(this.#desk, 'beginWalk', { runKey });
      for (const [page, body] of bodies.entries()) carryOut(this.#desk, 'stagePage', { runKey, page: page + 1, body });
      const facts = carryOut(this.#desk, 'finishWalk', { runKey });
      const judgement = judgeWalk(facts, step.walk === 'twice' ? 'twice' : 'counted', index > 0);
      last = { walkNumber: index + 1, startedAtMs, finishedAtMs: this.nowMs, facts, ...judgement };
      outcomes.push({ ledger: last.verdict, model: verdict });
      if (last.verdict !== 'accepted') carryOut(this.#desk, 'recordWalk', { runKey, walk: last });
    }
    if (last === null) throw new Error('no walk was made');
    const size = { pages: last.facts.pages, records: last.facts.records };
    if (step.walk === 'broken') return [...outcomes, ...this.#fail(model, run, runKey, 'unstable', 'unstable', size)];
    const known = model.knownRecords(range);
    if (listing.usage.size === 0) {
      outcomes.push({ ledger: carryOut(this.#desk, 'countKnownRecords', { runKey }), model: known });
      if (known > 0) {
        return [...outcomes, ...this.#fail(model, run, runKey, 'suspicious_empty', 'suspicious_empty', size)];
      }
    }
    const absent = carryOut(this.#desk, 'absentAgain', { runKey });
    outcomes.push({
      ledger: absent.map(({ period, tenantId }) => `${period} ${tenantId}`).sort(),
      model: model.absentAgain(range, listing),
    });
    const gone = absent.filter(({ period, tenantId }) => {
      const readable = (step.unreadable & (1 << TENANTS.indexOf(tenantId as (typeof TENANTS)[number]))) === 0;
      return readable && !upstream.has(`${period} ${tenantId}`);
    });
    const asleep = { model: run, runKey, walk: last, listing, gone };
    if (step.sleeps) {
      this.#asleep[step.workspace === 0 ? 0 : 1].push(asleep);
      return outcomes;
    }
    return [...outcomes, ...this.#publish(model, asleep)];
  }

  #publish(model: WorkspaceModel, { model: run, runKey, walk, listing, gone }: Asleep): Outcome[] {
    const may = model.mayPublish(run);
    const result = attempt(() =>
      carryOut(this.#desk, 'applyRun', {
        ...{ runKey, walk, withdrawals: gone, unconfirmed: [], nowMs: this.nowMs, alerts: ALERTS },
      }),
    );
    if (!may || !('value' in result)) {
      this.#meet('run fenced');
      const size = { pages: walk.facts.pages, records: walk.facts.records };
      return [
        { ledger: 'code' in result ? result.code : 'published', model: may ? 'published' : 'fenced' },
        ...this.#fail(model, run, runKey, 'failed', 'fenced', size),
      ];
    }
    const keys = gone.map(({ period, tenantId }) => `${period} ${tenantId}`);
    model.publish(run, listing, keys, datesOf, this.nowMs);
    for (const [kind, n] of Object.entries(result.value.counts)) if (n > 0) this.#meet(kind);
    return [{ ledger: result.value.entries, model: run.entries }];
  }

  #fail(
    model: WorkspaceModel,
    run: ModelRun,
    runKey: number,
    status: 'failed' | 'unstable' | 'suspicious_empty',
    code: string,
    size: { pages: number; records: number },
  ): Outcome[] {
    carryOut(this.#desk, 'failRun', {
      runKey,
      failure: { status, code, message: code, ...size },
      fault: null,
      channels: [],
      nowMs: this.nowMs,
    });
    model.fail(run, status, code, size, this.nowMs);
    this.#meet(status);
    return [];
  }

  #wake(workspace: number): Outcome[] {
    const asleep = this.#asleep[workspace === 0 ? 0 : 1].shift();
    return asleep === undefined ? [] : this.#publish(this.models[workspace === 0 ? 0 : 1], asleep);
  }

  #close({ workspace, period: position, force, settleHours }: Extract<Step, { do: 'close' }>): Outcome[] {
    const model = this.models[workspace === 0 ? 0 : 1];
    const open = model.periods.filter((known) => !model.isClosed(known));
    const period = chosen(position % 7 === 0 ? model.periods : open, position);
    const request = { workspaceId: model.id, period, by: 'Ada', note: `close ${position}`, force, settleHours };
    const closed = attempt(() => carryOut(this.#desk, 'closePeriod', { ...request, nowMs: this.nowMs }));
    const said = 'value' in closed ? { closed: reasonsOf(closed.value.overridden) } : refusalOf(closed);
    if (!model.periods.includes(period)) return [{ ledger: said, model: { code: 'unknown_period' } }];
    if (model.isClosed(period)) return [{ ledger: said, model: { code: 'close_refused', reasons: [] } }];
    if (model.isHeld(this.nowMs)) return [{ ledger: said, model: { code: 'lease_held' } }];
    const reasons = model.reasons(period, settleHours, this.nowMs);
    if (reasons.length > 0 && !force) {
      for (const reason of reasons) this.#meet(`refused: ${reason}`);
      return [{ ledger: said, model: { code: 'close_refused', reasons } }];
    }
    this.#meet(reasons.length > 0 ? 'forced' : 'closed');
    model.close(period, request.by, request.note, reasons, this.nowMs);
    return [{ ledger: said, model: { closed: reasons } }];
  }

  #reopen({ workspace, period: position }: Extract<Step, { do: 'reopen' }>): Outcome[] {
    const model = this.models[workspace === 0 ? 0 : 1];
    const closed = model.periods.filter((known) => model.isClosed(known));
    const period = chosen(position % 7 === 0 ? model.periods : closed, position);
    const request = { workspaceId: model.id, period, by: 'Bo', note: `reopen ${position}`, nowMs: this.nowMs };
    const opened = attempt(() => carryOut(this.#desk, 'reopenPeriod', request));
    const said = 'value' in opened ? { reversed: opened.value.reversed } : refusalOf(opened);
    if (!model.periods.includes(period)) return [{ ledger: said, model: { code: 'unknown_period' } }];
    if (!model.isClosed(period)) return [{ ledger: said, model: { code: 'close_refused', reasons: [] } }];
    if (model.isHeld(this.nowMs)) return [{ ledger: said, model: { code: 'lease_held' } }];
    const reversed = model.reopen(period, request.by, request.note, this.nowMs);
    this.#meet(reversed > 0 ? 'reopened with adjustments' : 'reopened');
    return [{ ledger: said, model: { reversed } }];
  }

  #meet(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1);
  }
}

/** One of the periods; one that the ledger has never heard of when there is none. */
function chosen(periods: readonly string[], position: number): string {
  return periods[position % periods.length] ?? '2024-01';
}

/** The sentences of a refusal as the model's names; a sentence that has none stays as it is. */
export function reasonsOf(sentences: readonly string[]): string[] {
  return sentences.map((sentence) => REASONS.find(([pattern]) => pattern.test(sentence))?.[1] ?? sentence);
}

function refusalOf({ code, error }: { code: string; error: AppError }): unknown {
  return code === 'close_refused' ? { code, reasons: reasonsOf((error as CloseRefusedError).reasons) } : { code };
}

/** An AppError as its code; whatever else is thrown is thrown on. */
function attempt<T>(work: () => T): { value: T } | { code: string; error: AppError } {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, error };
    throw error;
  }
}
