import { AppError } from '../../../src/core/errors.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import type { SyncOutcome } from '../../../src/sync/run.ts';
import type { Args, CommandName, Result, WriterCommands } from '../../../src/writer/commands.ts';
import { createWriter, type Writer } from '../../../src/writer/writer.ts';
import { realRun, writerOn } from '../../support/run/real-run.ts';
import { InMemoryService, VERDICTS } from './in-memory-service.ts';
import { WorkspaceModel } from './ledger-model.ts';
import { type Listing, type ModelRun, periodOf, type Range, type Reason } from './model-parts.ts';
import type { RunStep, Step } from './steps.ts';
import { datesOf, PERIODS, TENANTS, Upstream } from './upstream.ts';

/** The ledger's lease, said again: the model must not ask the ledger. */
const LEASE_MS = 60_000;
/** How the sentences of a refusal begin. */
const REASONS: [RegExp, Reason][] = [
  [/^it is not over/, 'not_over'],
  [/^it settles for/, 'settling'],
  [/^no complete walk/, 'no_walk'],
  [/^two complete walks/, 'no_second_walk'],
  [/^\d+ of its records are missing/, 'absent'],
];

/** What both accounts say happened in a step. */
export interface Outcome {
  ledger: unknown;
  model: unknown;
}

/** A run that has walked and does not go on to publish. */
interface Asleep {
  wake: () => void;
  ended: Promise<void>;
}

/** A run as it must go by the model. */
interface ExpectedRun {
  model: WorkspaceModel;
  step: RunStep;
  window: Range;
  listing: Listing;
  /** The months that each tenant's own history has. */
  histories: ReadonlyMap<string, readonly string[]>;
  /** When it is claimed, the ledger knows the very listing. */
  isKnown: boolean;
  /** Once it is claimed. */
  run: ModelRun | null;
}

/**
 * Takes a ledger, by the program's own runs and commands, and the model through one history, and notes what each makes of
 * it.
 */
export class HistoryPlayer {
  readonly models = [new WorkspaceModel('ws-1'), new WorkspaceModel('ws-2')] as const;
  /** How often which outcome was met. */
  readonly met = new Map<string, number>();
  nowMs = Date.UTC(2025, 11, 1, 12);
  readonly #upstreams = [new Upstream('ws-1'), new Upstream('ws-2')] as const;
  readonly #asleep: [Asleep[], Asleep[]] = [[], []];
  readonly #writer: Writer;
  #outcomes: Outcome[] = [];

  constructor(connection: LedgerDb) {
    this.#writer = writerOn(connection);
  }

  /** Every comparison that the step gives rise to; the two sides of each must be equal. */
  async take(step: Step): Promise<Outcome[]> {
    this.#outcomes = [];
    if (step.do === 'wait') {
      this.nowMs += step.ms;
      if (step.ms < 0) this.#meet('set back');
    } else if (step.do === 'run') await this.#run(step);
    else if (step.do === 'wake') await this.#wake(step.workspace);
    else this.#outcomes.push(await (step.do === 'close' ? this.#close(step) : this.#reopen(step)));
    return this.#outcomes;
  }

  async #run(step: RunStep): Promise<void> {
    const model = this.models[step.workspace === 0 ? 0 : 1];
    const upstream = this.#upstreams[step.workspace === 0 ? 0 : 1];
    this.nowMs += step.pauseMs;
    this.#capLeases();
    for (const change of step.changes) upstream.apply(change);
    const limits = [step.from, step.to].map((index) => (index === null ? null : (PERIODS[index] ?? null)));
    const [from = null, to = null] = limits;
    const window: Range = from !== null && to !== null && from > to ? { from: to, to: from } : { from, to };
    const listing: Listing = step.walk === 'empty' ? { usage: new Map(), pages: 1 } : upstream.listing(window);
    const expected: ExpectedRun = {
      model,
      step,
      window,
      listing,
      histories: upstream.histories(),
      isKnown: false,
      run: null,
    };
    const onRequest = (): void => {
      this.nowMs += step.walkMs;
    };
    const [walked, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const verdicts: string[] = [];
    const wasHeld = model.isHeld(this.nowMs);
    const service = new InMemoryService({
      ...{ workspaceId: model.id, listing, walk: step.walk, histories: expected.histories },
      ...{ isReadable: readableIn(step), onRequest },
    });
    const commands: WriterCommands = this.#writer;
    const call = async <Name extends CommandName>(name: Name, args: Args<Name>, transfer?: readonly ArrayBuffer[]) => {
      const { walk } = args as Partial<Args<'recordWalk'>>;
      if (walk !== undefined) verdicts.push(walk.verdict);
      if (name === 'beginWalk') service.beginWalk();
      const result = await commands[name](args, transfer);
      this.#onAnswer(expected, name, result);
      if (name === 'absentAgain' && step.sleeps) {
        walked.resolve();
        await woken.promise;
      }
      return result;
    };
    const { migration, ended: never } = this.#writer;
    const ended = realRun({
      writer: createWriter({ migration, ended: never, close: () => this.#writer.close(), call }),
      source: service,
      now: () => this.nowMs,
      workspace: {
        id: model.id,
        name: model.id,
        consistency: step.walk === 'twice' ? 'twice' : 'counted',
        suspiciousShrink: 1,
      },
      window,
    }).then(
      (outcome) => this.#onEnd(expected, verdicts, outcome),
      (error: unknown) => {
        if (expected.run !== null) return this.#onEnd(expected, verdicts, error);
        this.#meet('lease held');
        this.#outcomes.push({ ledger: codeOf(error), model: wasHeld ? 'lease_held' : 'claimed' });
      },
    );
    const sleeps = await Promise.race([ended.then(() => false), walked.promise.then(() => true)]);
    if (sleeps) this.#asleep[step.workspace === 0 ? 0 : 1].push({ wake: woken.resolve, ended });
  }

  /** Holds what the run has learned from the ledger against the model. */
  #onAnswer(expected: ExpectedRun, name: CommandName, result: unknown): void {
    const { model, window, listing } = expected;
    if (name === 'claimRun') {
      const { runId } = result as Extract<Result<'claimRun'>, { runId: string }>;
      this.#outcomes.push({ ledger: 'claimed', model: model.isHeld(this.nowMs) ? 'lease_held' : 'claimed' });
      expected.isKnown = model.isKnown(window, listing);
      expected.run = model.claim(runId, window, this.nowMs, LEASE_MS);
    } else if (name === 'countMissing') {
      const counted = result as Result<'countMissing'>;
      if (counted !== null) this.#outcomes.push({ ledger: counted.known, model: model.knownRecords(window) });
    } else if (name === 'absentAgain') {
      const absent = result as Result<'absentAgain'>;
      const keys = absent.map(({ period, tenantId }) => `${period} ${tenantId}`).sort();
      this.#outcomes.push({ ledger: keys, model: model.absentAgain(window, listing) });
    }
  }

  #onEnd(
    { model, step, window, listing, histories, isKnown, run }: ExpectedRun,
    verdicts: string[],
    end: unknown,
  ): void {
    if (run === null) throw new Error('a run has ended that was never claimed');
    const isMoved = step.walk === 'broken';
    const size = { pages: listing.pages, records: listing.usage.size + (isMoved ? 1 : 0) };
    let code: string | null = null;
    if (!model.mayPublish(run)) code = 'fenced';
    else if (isMoved) code = 'unstable';
    else if (listing.usage.size === 0 && model.knownRecords(window) > 0) code = 'suspicious_empty';
    // A walk that shows nothing where there was something is neither kept nor published.
    const walks = step.walk === 'twice' && isKnown ? VERDICTS.once : VERDICTS[step.walk];
    const kept = walks.filter((verdict) => code !== 'suspicious_empty' || verdict !== 'accepted');
    this.#outcomes.push({ ledger: verdicts, model: kept });
    if (code !== null) {
      this.#outcomes.push({ ledger: codeOf(end), model: code });
      model.fail(run, code === 'fenced' ? 'failed' : code, code, size, this.nowMs);
      this.#meet(code === 'fenced' ? 'run fenced' : code);
      return;
    }
    const gone = model.absentAgain(window, listing).filter((key) => {
      const tenant = key.slice(periodOf(key).length + 1);
      return readableIn(step)(tenant) && histories.get(tenant)?.includes(periodOf(key)) !== true;
    });
    model.publish(run, listing, gone, datesOf, this.nowMs);
    const { entries, counts } = end as Partial<Extract<SyncOutcome, { status: 'applied' }>>;
    for (const [kind, n] of Object.entries(counts ?? {})) if (n > 0) this.#meet(kind);
    this.#outcomes.push({ ledger: entries ?? codeOf(end), model: run.entries });
  }

  async #wake(workspace: number): Promise<void> {
    const asleep = this.#asleep[workspace === 0 ? 0 : 1].shift();
    asleep?.wake();
    await asleep?.ended;
  }

  async #close(step: Extract<Step, { do: 'close' }>): Promise<Outcome> {
    this.#capLeases();
    const { workspace, period: position, force, settleHours } = step;
    const model = this.models[workspace === 0 ? 0 : 1];
    const open = model.periods.filter((known) => !model.isClosed(known));
    const period = chosen(position % 7 === 0 ? model.periods : open, position);
    const request = { workspaceId: model.id, period, by: 'Ada', note: `close ${position}`, force, settleHours };
    const closed = await attempt(this.#writer.closePeriod({ ...request, nowMs: this.nowMs }));
    const said = 'value' in closed ? { closed: reasonsOf(closed.value.overridden) } : refusalOf(closed);
    if (!model.periods.includes(period)) return { ledger: said, model: { code: 'unknown_period' } };
    if (model.isClosed(period)) return { ledger: said, model: { code: 'close_refused', reasons: [] } };
    if (model.isHeld(this.nowMs)) return { ledger: said, model: { code: 'lease_held' } };
    const reasons = model.reasons(period, settleHours, this.nowMs);
    if (reasons.length > 0 && !force) {
      for (const reason of reasons) this.#meet(`refused: ${reason}`);
      return { ledger: said, model: { code: 'close_refused', reasons } };
    }
    this.#meet(reasons.length > 0 ? 'forced' : 'closed');
    model.close(period, request.by, request.note, reasons, this.nowMs);
    return { ledger: said, model: { closed: reasons } };
  }

  async #reopen({ workspace, period: position }: Extract<Step, { do: 'reopen' }>): Promise<Outcome> {
    this.#capLeases();
    const model = this.models[workspace === 0 ? 0 : 1];
    const closed = model.periods.filter((known) => model.isClosed(known));
    const period = chosen(position % 7 === 0 ? model.periods : closed, position);
    const request = { workspaceId: model.id, period, by: 'Bo', note: `reopen ${position}`, nowMs: this.nowMs };
    const opened = await attempt(this.#writer.reopenPeriod(request));
    const said = 'value' in opened ? { reversed: opened.value.reversed } : refusalOf(opened);
    if (!model.periods.includes(period)) return { ledger: said, model: { code: 'unknown_period' } };
    if (!model.isClosed(period)) return { ledger: said, model: { code: 'close_refused', reasons: [] } };
    if (model.isHeld(this.nowMs)) return { ledger: said, model: { code: 'lease_held' } };
    const reversed = model.reopen(period, request.by, request.note, this.nowMs);
    this.#meet(reversed > 0 ? 'reopened with adjustments' : 'reopened');
    return { ledger: said, model: { reversed } };
  }

  #capLeases(): void {
    for (const model of this.models) model.capLease(this.nowMs, LEASE_MS);
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
  return code === 'close_refused'
    ? { code, reasons: reasonsOf((error as AppError & { reasons: string[] }).reasons) }
    : { code };
}

/** Which histories can be read during the run. */
function readableIn({ unreadable }: RunStep): (tenant: string) => boolean {
  return (tenant) => (unreadable & (1 << (TENANTS as readonly string[]).indexOf(tenant))) === 0;
}

function codeOf(end: unknown): unknown {
  return end instanceof AppError ? end.code : end;
}

/** An AppError as its code; whatever else is thrown is thrown on. */
async function attempt<T>(work: Promise<T>): Promise<{ value: T } | { code: string; error: AppError }> {
  try {
    return { value: await work };
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return { code: error.code, error };
    throw error;
  }
}
