import { existsSync } from 'node:fs';
import { DeliveriesOracle } from '../oracle/deliveries.ts';
import { PromiseBroken } from '../oracle/fault.ts';
import { checkFreshness, type LastRun, overdueMs, staleAfterMs, TOLD_AFTER_MS } from '../oracle/freshness.ts';
import { LastWordsOracle, type WordsMoment } from '../oracle/last-words.ts';
import { LedgerView } from '../oracle/ledger-view.ts';
import { MoneyOracle } from '../oracle/money.ts';
import { MutedOracle } from '../oracle/muted.ts';
import { PublishedFiguresOracle } from '../oracle/published-figures.ts';
import type { Listener } from '../oracle/routes.ts';
import { RunsOracle } from '../oracle/runs.ts';
import { checkScreen } from '../oracle/screens.ts';
import { SoundnessOracle } from '../oracle/soundness.ts';
import { TimesAheadOracle } from '../oracle/times-ahead.ts';
import { inShort, READING_RULES, ToldOracle } from '../oracle/told.ts';
import { Seat } from '../world/seat.ts';
import { monthOf } from '../world/service.ts';
import { statementsRun } from '../world/statements.ts';
import type { World } from '../world/world.ts';
import { askReadiness, isDeath } from './ask-readiness.ts';
import { Conditions } from './conditions.ts';
import type { Stage } from './obstacles.ts';
import { People, type Typing } from './people.ts';
import { LOOK_MS, type Plan } from './plan.ts';

const MINUTE_MS = 60_000;
/** Whoever was refused is asked again after an hour at the latest. */
const LATEST_RETRY_MS = 70 * MINUTE_MS;
const PROBE_MS = 10 * MINUTE_MS;

interface Published {
  run_key: bigint;
  run_id: string;
  applied_seq: bigint;
  workspace_id: string;
  from_period: string | null;
  to_period: string | null;
  finished_at: string;
}

/** Looks at the world with every oracle that there is. */
export class Watch {
  readonly met = new Map<string, number>();
  readonly stage: Stage;
  readonly #plan: Plan;
  readonly #world: World;
  readonly #conditions: Conditions;
  #ledger: LedgerView | null = null;
  readonly #soundness = new SoundnessOracle();
  readonly #figures = new PublishedFiguresOracle();
  readonly #runs: RunsOracle;
  readonly #money = new MoneyOracle();
  readonly #ahead: TimesAheadOracle;
  readonly #told: ToldOracle;
  readonly #deliveries: DeliveriesOracle;
  readonly #muted = new MutedOracle();
  readonly #words: LastWordsOracle;
  readonly #heard = new Map<string, number>();
  readonly #began = new Map<bigint, number>();
  /** The applied runs of each workspace. */
  readonly #published = new Map<string, LastRun[]>();
  #lastLookMs: number;
  #position = 0n;
  #statementsRun = 0;
  #nextProbeMs = 0;
  /** By how much looks at what is due may be later than is usual. */
  readonly #lateMs: number;
  #fault: PromiseBroken | null = null;

  constructor(plan: Plan, world: World) {
    this.#plan = plan;
    this.#world = world;
    this.#lastLookMs = world.clock.now();
    this.#lateMs = plan.lookMs - LOOK_MS;
    this.#runs = new RunsOracle(this.#lateMs);
    this.#ahead = new TimesAheadOracle(this.#lateMs);
    this.#told = new ToldOracle(world.services, this.#lateMs);
    this.#deliveries = new DeliveriesOracle(world.receivers, this.#lateMs);
    this.#words = new LastWordsOracle(this.#lateMs);
    const people = new People(
      world,
      () => this.#ledger,
      (typing) => this.#noteFault(() => this.#checkScreen(typing)),
    );
    const seats = world.hosts.map((host, index) => new Seat(world, index, host));
    this.stage = { world, seats, people, ends: [], meet: (kind) => this.meet(kind) };
    this.#conditions = new Conditions(world, seats);
    world.logged = (process, line) => {
      if (!process.alive) return;
      const entry = JSON.parse(line) as { code?: string; msg: string; stack?: string; reason?: string };
      world.note(`${process.name} says ${entry.msg} ${entry.code ?? ''} ${entry.reason ?? ''}`);
      this.#noteFault(() => {
        this.#told.checkSecrets(line, `the log of ${process.name}`);
        if (entry.code !== 'internal') return;
        throw new PromiseBroken('no defect shows in the log', `${entry.msg}: ${entry.reason} ${entry.stack ?? ''}`);
      });
    };
  }

  meet(kind: string): void {
    this.met.set(kind, (this.met.get(kind) ?? 0) + 1);
  }

  rejected(reason: unknown): void {
    if (isDeath(reason)) return;
    this.#fault ??= new PromiseBroken(
      'every error is handled',
      String(reason instanceof Error ? reason.stack : reason),
    );
  }

  /** What is found in the middle of the program's own work is thrown at the next look. */
  #noteFault(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#fault ??= error as PromiseBroken;
    }
  }

  #checkScreen({ argv, atMs, code, stdout, stderr }: Typing): void {
    if (code === 0 && argv[0] === 'alerts') this.#muted.typed(argv, this.#world.clock.now());
    this.#told.checkSecrets(stdout + stderr, argv.join(' '));
    // A disk may have failed while the command was at work.
    this.#conditions.look(this.#world.clock.now());
    checkScreen({ argv, code, stderr }, this.#conditions.disksWellSinceMs <= atMs);
    if (argv[0] !== 'status' || stdout === '' || this.#world.hosts[0]?.clockOffsetMs !== 0) return;
    const { workspaces } = JSON.parse(stdout) as { workspaces: { workspace_id: string; state: string }[] };
    for (const { workspace_id, state } of workspaces) {
      if (this.#runsOf(workspace_id).length > 0) this.#checkSaid(workspace_id, state === 'stale', 0);
    }
  }

  look(): void {
    if (this.#fault !== null) throw this.#fault;
    const nowMs = this.#world.clock.now();
    this.#conditions.look(nowMs);
    const { clocksRightSinceMs, someoneFitSinceMs } = this.#conditions;
    const { configuredMs } = this.#world;
    const servedSinceMs = (channel: string): number => this.#servedSinceMs(channel);
    const moment = { nowMs, clocksRightSinceMs, someoneFitSinceMs, configuredMs, servedSinceMs };
    this.#deliveries.checkAttempts(moment);
    const ledger = this.#open();
    const isIdle = this.#statementsRun === statementsRun();
    this.#statementsRun = statementsRun();
    if (!isIdle && ledger?.hasChanged()) {
      ledger.atOnce(() => {
        this.#lookAt(ledger);
        this.#deliveries.check(ledger, moment);
      });
    }
    this.#listen();
    if (ledger !== null && nowMs >= this.#nextProbeMs) {
      this.#nextProbeMs = nowMs + PROBE_MS + this.#lateMs;
      this.#deliveries.checkDue(moment);
      for (const seat of this.stage.seats) this.#probe(seat);
      this.#checkDue(ledger, nowMs);
      this.#ahead.check(ledger, moment);
      this.#checkWords(ledger, moment);
    }
    if (monthOf(nowMs) !== monthOf(this.#lastLookMs)) this.meet('month rolled');
    this.#lastLookMs = nowMs;
  }

  #open(): LedgerView | null {
    const { path } = this.#world.config.ledger;
    if (this.#ledger === null && existsSync(path)) {
      const view = new LedgerView(path);
      const ready = view.value<bigint>("SELECT count(*) FROM sqlite_schema WHERE name = 'finance_usage'");
      if (ready === 0n) view.close();
      else this.#ledger = view;
    }
    return this.#ledger;
  }

  #lookAt(ledger: LedgerView): void {
    const nowMs = this.#world.clock.now();
    this.#soundness.check(ledger);
    this.#runs.check(ledger, {
      nowMs,
      clocksRightSinceMs: this.#conditions.clocksRightSinceMs,
      faultlessSinceMs: (id) => this.#conditions.faultlessSinceMs(id),
      checkSecrets: (text, where) => this.#told.checkSecrets(text, where),
      goesOn: (name) => this.#world.processes.get(name)?.goesOn === true,
    });
    for (const { run_key } of ledger.all<{ run_key: bigint }>("SELECT run_key FROM runs WHERE status = 'running'")) {
      if (!this.#began.has(run_key)) this.#began.set(run_key, this.#lastLookMs);
    }
    const published = ledger.all<Published>(
      `SELECT r.run_key, r.run_id, r.applied_seq, w.workspace_id, r.from_period, r.to_period, r.finished_at FROM runs r
       JOIN workspaces w ON w.workspace_key = r.workspace_key WHERE r.applied_seq > ? ORDER BY r.applied_seq`,
      this.#position,
    );
    for (const { run_key, run_id, applied_seq, workspace_id, from_period, to_period, finished_at } of published) {
      this.#position = applied_seq;
      const beganMs = this.#began.get(run_key) ?? this.#lastLookMs;
      const service = this.#world.network.services.get(workspace_id);
      const run = {
        runId: run_id,
        workspaceId: workspace_id,
        from: from_period,
        to: to_period,
        beganMs,
        endedMs: nowMs,
      };
      if (service !== undefined) this.#figures.check(ledger, service, run, this.#world.network.given);
      this.#runsOf(workspace_id).push({ atMs: nowMs, storedMs: Date.parse(finished_at) });
      this.meet('run applied');
    }
    this.#money.check(ledger, { head: this.#soundness.head, isAct: this.stage.people.isAt('rates') });
    this.#world.note(`head ${this.#soundness.head}`);
  }

  #listen(): void {
    for (const receiver of this.#world.receivers) {
      for (const message of receiver.inbox.slice(this.#heard.get(receiver.name) ?? 0)) {
        this.#world.note(`told ${inShort(message)}`);
        const madeMs = this.#deliveries.madeMs(message.notificationId);
        const { clocksRightSinceMs } = this.#conditions;
        const mayHaveBeenTold = (alertId: string) => receiver.mayBeUnknown(alertId);
        this.#told.check(message, { madeMs, clocksRightSinceMs, mayHaveBeenTold }, (id) => ({
          runs: this.#runsOf(id),
          pauseMs: this.#pauseOf(id),
          readableSinceMs: this.#conditions.readableSinceMs(id),
        }));
        this.#muted.check(message, madeMs, clocksRightSinceMs);
        this.meet('message told');
      }
      this.#heard.set(receiver.name, receiver.inbox.length);
    }
  }

  #runsOf(workspaceId: string): LastRun[] {
    const runs = this.#published.get(workspaceId) ?? [];
    this.#published.set(workspaceId, runs);
    return runs;
  }

  #pauseOf(workspaceId: string): number {
    return this.#plan.workspaces.find(({ id }) => id === workspaceId)?.pauseMs ?? 0;
  }

  /** What a daemon that is up, with a clock that is right, says of how fresh each workspace is. */
  #probe(seat: Seat): void {
    const { running, host } = seat;
    if (running === null || !running.process.alive || running.process.frozen || host.clockOffsetMs !== 0) return;
    const said = askReadiness(running);
    if (said === null) return;
    const stale = (said.reasons ?? []).map(({ workspace_id }) => workspace_id);
    for (const { id } of this.#plan.workspaces) this.#checkSaid(id, stale.includes(id), running.sinceMs);
    const redis = (said.reasons ?? []).some(({ code }) => code === 'redis_unavailable');
    if (redis !== this.#world.broker.away)
      throw new PromiseBroken('a queue that is away is said to be', JSON.stringify(said));
  }

  #checkSaid(workspaceId: string, stale: boolean, sinceMs: number): void {
    checkFreshness({
      ...{ workspaceId, stale, sinceMs, nowMs: this.#world.clock.now() },
      last: this.#runsOf(workspaceId).at(-1) ?? null,
      pauseMs: this.#pauseOf(workspaceId),
      underWaySinceMs: this.#underWaySinceMs(workspaceId),
      lateMs: this.#lateMs,
    });
  }

  /** Since when a workspace is being read, or has a job that waits; null when neither is so. */
  #underWaySinceMs(workspaceId: string): number | null {
    return this.#runs.runningSinceMs(workspaceId) ?? this.#world.broker.jobSinceMs(workspaceId);
  }

  /** Whatever was wrong before: once nothing is, each workspace is read before it would be stale, and until then it is told. */
  #checkDue(ledger: LedgerView, nowMs: number): void {
    const { someoneFitSinceMs, clocksRightSinceMs } = this.#conditions;
    const alarmed = ledger
      .all<{ workspace_id: string; rule: string }>(
        `SELECT workspace_id, rule FROM finance_alerts
         WHERE state IN ('firing', 'acknowledged')`,
      )
      .filter(({ rule }) => READING_RULES.includes(rule))
      .map(({ workspace_id }) => workspace_id);
    for (const { id, pauseMs } of this.#plan.workspaces) {
      const last = this.#runsOf(id).at(-1) ?? null;
      const limitMs = staleAfterMs(pauseMs);
      const readableSinceMs = this.#conditions.readableSinceMs(id);
      this.#runs.checkRetried(id, { readableSinceMs, pauseMs, nowMs, lastMs: last?.atMs ?? 0 });
      const idleMs = nowMs - Math.max(readableSinceMs, last?.atMs ?? 0);
      if (idleMs > limitMs + LATEST_RETRY_MS + this.#lateMs)
        throw new PromiseBroken(
          'what is due is done',
          `${id} was not read for ${Math.round(idleMs / MINUTE_MS)} minutes`,
        );
      const fitMs = nowMs - Math.max(someoneFitSinceMs, clocksRightSinceMs) - limitMs;
      const staleMs = Math.min(overdueMs({ last, pauseMs, nowMs }), fitMs);
      if (staleMs > TOLD_AFTER_MS + this.#lateMs && !alarmed.includes(id) && this.#underWaySinceMs(id) === null)
        throw new PromiseBroken(
          'what is stale is told',
          `${id} has been for ${Math.round(staleMs / MINUTE_MS)} minutes`,
        );
    }
  }

  #isReadable(workspaceId: string): boolean {
    return Number.isFinite(this.#conditions.readableSinceMs(workspaceId));
  }

  /** Whether all that was put off is done since then: there is nothing more to wait for. */
  isSettled(sinceMs: number): boolean {
    const ledger = this.#ledger;
    const nowMs = this.#world.clock.now();
    if (ledger === null || this.stage.people.under > 0 || nowMs - sinceMs < 30 * MINUTE_MS) return false;
    const isRead = (id: string): boolean => (this.#runsOf(id).at(-1)?.atMs ?? 0) > sinceMs;
    if (this.#plan.workspaces.some(({ id }) => this.#isReadable(id) && !isRead(id))) return false;
    if (!this.#deliveries.isDone({ nowMs, servedSinceMs: (channel) => this.#servedSinceMs(channel) })) return false;
    const soon = new Date(nowMs + 2 * 60 * MINUTE_MS).toISOString();
    if (ledger.value<bigint>('SELECT count(*) FROM alerts WHERE ask_at <= ?', soon) > 0n) return false;
    return !this.isReading;
  }

  get isReading(): boolean {
    const running = this.#ledger?.value<bigint>("SELECT count(*) FROM runs WHERE status = 'running'");
    return running !== undefined && running > 0n;
  }

  lookAtRest(): void {
    this.look();
    const ledger = this.#ledger;
    if (ledger === null) throw new PromiseBroken('there is a ledger', 'nothing was ever written');
    this.#soundness.checkAtRest(ledger);
    this.#runs.checkAtRest(ledger);
    this.#told.checkAtRest(ledger, this.#complete(ledger), (id) => this.#isReadable(id));
    for (const [index, seat] of this.stage.seats.entries()) {
      if (seat.running === null) throw new PromiseBroken('the daemons run', `seat ${index} is down`);
    }
    if (this.#world.clock.waiting > 500)
      throw new PromiseBroken('nothing piles up', `${this.#world.clock.waiting} timers wait`);
  }

  /** The channels that there are and that were sent all that they were to hear. */
  #complete(ledger: LedgerView): readonly Listener[] {
    const { routes, receivers } = this.#world;
    return routes.flatMap((route) => {
      const receiver = receivers.find(({ name }) => name === route.name && this.#deliveries.hasAll(name, ledger));
      return receiver === undefined ? [] : [{ receiver, route }];
    });
  }

  #servedSinceMs(channel: string): number {
    return this.#world.servedSinceMs.get(channel) ?? Number.POSITIVE_INFINITY;
  }

  /** When the last silence and plan ends. */
  get mutedUntilMs(): number {
    return this.#muted.lastEndMs(null);
  }

  #checkWords(ledger: LedgerView, moment: WordsMoment): void {
    const complete = this.#complete(ledger);
    this.#words.checkCriticals(ledger, complete, moment);
    const hadClocks = this.#plan.happenings.some(({ kind }) => kind === 'clock' || kind === 'service_clock');
    if (hadClocks) return;
    this.#words.checkSettled(ledger, complete, {
      ...moment,
      firstRunMs: (id) => this.#runsOf(id)[0]?.storedMs ?? Number.POSITIVE_INFINITY,
      audibleSinceMs: (id) => {
        const mutedMs = this.#muted.lastEndMs(id);
        return mutedMs > moment.nowMs
          ? Number.POSITIVE_INFINITY
          : Math.max(mutedMs, this.#conditions.readableSinceMs(id));
      },
    });
  }

  /** The processes die with their world. */
  end(): void {
    for (const { fault, count } of this.#faultsMet()) this.met.set(fault, (this.met.get(fault) ?? 0) + count);
    if (this.#world.deaths > 0) this.met.set('death in the middle of something', this.#world.deaths);
    for (const seat of this.stage.seats) seat.process?.kill('ends with the world');
    this.#ledger?.close();
  }

  #faultsMet(): { fault: string; count: number }[] {
    const { network, receivers, hosts } = this.#world;
    const met = [
      ['service', network.met] as const,
      ...receivers.map((receiver) => ['receiver', receiver.met] as const),
      ...hosts.map((host) => ['disk', host.met] as const),
    ];
    return met.flatMap(([who, faults]) => [...faults].map(([fault, count]) => ({ fault: `${who} ${fault}`, count })));
  }
}
