import { existsSync } from 'node:fs';
import { DeliveriesOracle } from '../oracle/deliveries.ts';
import { minutes, PromiseBroken } from '../oracle/fault.ts';
import { checkFreshness, overdueMs, staleAfterMs, TOLD_AFTER_MS } from '../oracle/freshness.ts';
import { LastWordsOracle, type WordsMoment } from '../oracle/last-words.ts';
import { LedgerView } from '../oracle/ledger-view.ts';
import { type Listener, wordsIn } from '../oracle/messages.ts';
import { MoneyOracle } from '../oracle/money.ts';
import { RunsOracle } from '../oracle/runs.ts';
import { checkScreen } from '../oracle/screens.ts';
import { SoundnessOracle } from '../oracle/soundness.ts';
import { hasMade, SplitOracle } from '../oracle/split.ts';
import { TimesAheadOracle } from '../oracle/times-ahead.ts';
import { inShort, READING_RULES } from '../oracle/told.ts';
import { Seat } from '../world/seat.ts';
import { monthOf } from '../world/service.ts';
import { statementsRun } from '../world/statements.ts';
import { createSecond, type World } from '../world/world.ts';
import { AppliedRuns } from './applied.ts';
import { askReadiness, isDeath } from './ask-readiness.ts';
import { Conditions } from './conditions.ts';
import { faultsMet } from './coverage.ts';
import type { Known } from './known.ts';
import type { Stage } from './obstacles.ts';
import { People, type Typing } from './people.ts';
import { LOOK_MS, type Plan } from './plan.ts';

const MINUTE_MS = 60_000;
/** Whoever was refused is asked again after an hour at the latest. */
const LATEST_RETRY_MS = 70 * MINUTE_MS;
const PROBE_MS = 10 * MINUTE_MS;
/** Whether the end of a workspace was taken back is asked so often. */
const RESUMED_MS = 60 * MINUTE_MS;

/** Looks at one ledger, and the world around it, with every oracle that there is. */
export class Watch {
  readonly stage: Stage;
  readonly #known: Known;
  readonly #plan: Plan;
  readonly #world: World;
  readonly #conditions: Conditions;
  readonly #isFirst: boolean;
  #ledger: LedgerView | null = null;
  readonly #soundness = new SoundnessOracle();
  readonly #split: SplitOracle;
  readonly #runs: RunsOracle;
  readonly #money: MoneyOracle;
  readonly #ahead: TimesAheadOracle;
  readonly #deliveries: DeliveriesOracle;
  readonly #words: LastWordsOracle;
  readonly #heard = new Map<string, number>();
  readonly #applied: AppliedRuns;
  #lastLookMs: number;
  #statementsRun = 0;
  #nextProbeMs = 0;
  /** By how much looks at what is due may be later than is usual. */
  readonly #lateMs: number;
  #fault: PromiseBroken | null = null;
  /** Whether something is about a workspace that is in this ledger now, or about none. */
  readonly #isOurs = (workspaceId: string | null): boolean => workspaceId === null || this.has(workspaceId);

  /** The first of a world has all workspaces; `known` is what the others know, too. */
  constructor(plan: Plan, world: World, known: Known) {
    this.#plan = plan;
    this.#world = world;
    this.#known = known;
    this.#isFirst = known.watches.length === 0;
    this.#split = new SplitOracle(this.#isFirst);
    this.#applied = new AppliedRuns(known.published);
    this.#money = new MoneyOracle(known.closed);
    this.#lastLookMs = world.clock.now();
    this.#lateMs = plan.lookMs - LOOK_MS;
    this.#runs = new RunsOracle(this.#lateMs, known.slots);
    this.#ahead = new TimesAheadOracle(this.#lateMs);
    this.#deliveries = new DeliveriesOracle(world.receivers, known.made, this.#lateMs);
    this.#words = new LastWordsOracle(this.#lateMs);
    const people = new People(
      world,
      () => this.#ledger,
      (typing) => this.#noteFault(() => this.#checkScreen(typing)),
    );
    const seats = world.hosts.map((host) => new Seat(world, host));
    this.stage = {
      ...{ world, seats, people, ends: [], second: null, isSplitting: false, quietFromMs: plan.forMs },
      meet: (kind) => this.meet(kind),
      openSecond: (workspaceId) => new Watch(plan, createSecond(world, plan, workspaceId), known).stage,
      begin: () => this.begin(),
    };
    this.#conditions = new Conditions(world, seats);
    world.logged = (process, line) => {
      if (!process.alive) return;
      const entry = JSON.parse(line) as { code?: string; msg: string; stack?: string; reason?: string };
      world.note(`${process.name} says ${entry.msg} ${entry.code ?? ''} ${entry.reason ?? ''}`);
      this.#noteFault(() => {
        known.told.checkSecrets(line, `the log of ${process.name}`);
        if (entry.code !== 'internal') return;
        throw new PromiseBroken('no defect shows in the log', `${entry.msg}: ${entry.reason} ${entry.stack ?? ''}`);
      });
    };
  }

  meet(kind: string, times = 1): void {
    if (times > 0) this.#known.met.set(kind, (this.#known.met.get(kind) ?? 0) + times);
  }

  /** From now on it is looked at, and its daemons run. What is there was copied, and was looked at where it was made. */
  begin(): void {
    const ledger = this.#open();
    if (ledger !== null) for (const oracle of [this.#runs, this.#money, this.#applied]) oracle.skip(ledger);
    this.#known.watches.push(this);
    for (const seat of this.stage.seats) seat.start();
  }

  rejected(reason: unknown): void {
    if (isDeath(reason)) return;
    const words = String(reason instanceof Error ? reason.stack : reason);
    this.#fault ??= reason instanceof PromiseBroken ? reason : new PromiseBroken('every error is handled', words);
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
    if (code === 0 && argv[0] === 'alerts') this.#known.muted.typed(argv, this.#world.clock.now(), this.#isOurs);
    this.#known.told.checkSecrets(stdout + stderr, argv.join(' '));
    // A disk may have failed while the command was at work.
    this.#conditions.look(this.#world.clock.now());
    checkScreen({ argv, code, stderr }, this.#conditions.disksWellSinceMs <= atMs);
    if (argv[0] !== 'status' || stdout === '' || this.#world.hosts[0]?.clockOffsetMs !== 0) return;
    const { workspaces } = JSON.parse(stdout) as { workspaces: { workspace_id: string; state: string }[] };
    for (const { workspace_id, state } of workspaces) {
      // It may have been read while the command was at work.
      if ((this.#applied.of(workspace_id).at(-1)?.atMs ?? atMs) < atMs)
        this.#checkSaid(workspace_id, state === 'stale', 0);
    }
  }

  look(): void {
    if (this.#fault !== null) throw this.#fault;
    const nowMs = this.#world.clock.now();
    this.#conditions.look(nowMs);
    const { clocksRightSinceMs, someoneFitSinceMs, disksWellSinceMs } = this.#conditions;
    const configuredMs = this.#world.decided?.sinceMs ?? Number.POSITIVE_INFINITY;
    const servedSinceMs = (channel: string): number => this.#conditions.servedSinceMs(channel);
    const conditions = { clocksRightSinceMs, someoneFitSinceMs, disksWellSinceMs, configuredMs, servedSinceMs };
    const moment = { nowMs, ...conditions, isOurs: this.#isOurs };
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
    const { ledgerPath: path } = this.#world;
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
    this.#split.check(ledger, nowMs, (id) => this.#known.watches[0]?.saidOf(id) ?? null);
    this.#runs.check(ledger, {
      nowMs,
      clocksRightSinceMs: this.#conditions.clocksRightSinceMs,
      faultlessSinceMs: (id) => this.#conditions.faultlessSinceMs(id),
      checkSecrets: (text, where) => this.#known.told.checkSecrets(text, where),
      goesOn: (name) => this.#world.processes.get(name)?.goesOn === true,
    });
    const { services, given } = this.#world.network;
    for (const run of this.#applied.follow(ledger, nowMs, this.#lastLookMs)) {
      const service = services.get(run.workspaceId);
      const isFair = this.#conditions.faultlessSinceMs(run.workspaceId) <= run.beganMs;
      if (service !== undefined) this.#known.figures.check(ledger, service, run, { given, isFair });
      this.meet('run applied');
    }
    const { head } = this.#soundness;
    this.#money.check(ledger, { head, isAct: this.stage.people.isAt('rates'), has: this.#isOurs });
    this.#world.note(`head ${head}`);
  }

  /** What receivers have heard, from whichever ledger: each has looked before, so that it is known when a message was made. */
  listen(): void {
    this.meet('entry billed', this.#known.billed.check(this.#ledger, this.#lastLookMs));
    for (const receiver of this.#world.receivers) {
      for (const message of receiver.inbox.slice(this.#heard.get(receiver.name) ?? 0)) {
        this.#world.note(`told ${inShort(message)}`);
        const madeMs = this.#known.made.get(message.notificationId) ?? 0;
        const { clocksRightSinceMs } = this.#conditions;
        const about = wordsIn(message.payload).flatMap(({ workspace_id }) => workspace_id ?? []);
        const isLeftBehind = about.some((id) => {
          const holder = this.#holderOf(id);
          return madeMs < holder.hasSinceMs(id) || !hasMade(holder.#ledger, message.notificationId);
        });
        // Of what a sender held when it died nobody knows whether it was sent: with the end of its workspace it counts as heard.
        const isEndedSince = this.#world.deaths > 0 && about.some((id) => this.#holderOf(id).hasSinceMs(id) > 0);
        const mayHaveBeenTold = (alertId: string) =>
          isEndedSince || receiver.mayBeUnknown(alertId, message.notificationId);
        const moment = { madeMs, clocksRightSinceMs, mayHaveBeenTold, isLeftBehind };
        this.#known.told.check(message, moment, (id) => ({
          runs: this.#applied.of(id),
          pauseMs: this.#pauseOf(id),
          readableSinceMs: this.#holderOf(id).readableSinceMs(id),
        }));
        this.#known.muted.check(message, { ...moment, hasSinceMs: (id) => this.#holderOf(id).hasSinceMs(id) });
        this.meet('message told');
      }
      this.#heard.set(receiver.name, receiver.inbox.length);
    }
  }

  /** Whether a workspace is in this ledger now. */
  has(workspaceId: string): boolean {
    return this.#split.has(workspaceId);
  }

  /** Since when; 0: always. */
  hasSinceMs(workspaceId: string): number {
    return this.#split.sinceMs(workspaceId);
  }

  #holderOf(workspaceId: string): Watch {
    return this.#known.watches.find((watch) => watch.has(workspaceId)) ?? this;
  }

  /** Since when nothing keeps a workspace from being read here. */
  readableSinceMs(workspaceId: string): number {
    if (!this.has(workspaceId)) return Number.POSITIVE_INFINITY;
    return Math.max(this.#conditions.readableSinceMs(workspaceId), this.hasSinceMs(workspaceId) + RESUMED_MS);
  }

  /** What this ledger said of a workspace when it ended it. */
  saidOf(workspaceId: string): string | null {
    return this.#split.saidOf(workspaceId);
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
    for (const { id } of this.#plan.workspaces) this.#checkSaid(id, stale.includes(id), running.begunMs);
    const redis = (said.reasons ?? []).some(({ code }) => code === 'redis_unavailable');
    if (redis !== this.#world.broker.away)
      throw new PromiseBroken('a queue that is away is said to be', JSON.stringify(said));
  }

  #checkSaid(workspaceId: string, stale: boolean, sinceMs: number): void {
    const has = this.has(workspaceId);
    if (stale && !has) throw new PromiseBroken('what was ended is not stale', workspaceId);
    // Of one whose end was taken back it is thought for a while that it waits for its turn.
    if (!has || (!stale && this.#world.clock.now() < this.hasSinceMs(workspaceId) + RESUMED_MS)) return;
    checkFreshness({
      ...{ workspaceId, stale, sinceMs, nowMs: this.#world.clock.now() },
      last: this.#applied.of(workspaceId).at(-1) ?? null,
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
    for (const { id, pauseMs } of this.#plan.workspaces.filter((workspace) => this.has(workspace.id))) {
      const last = this.#applied.of(id).at(-1) ?? null;
      const limitMs = staleAfterMs(pauseMs);
      const readableSinceMs = this.readableSinceMs(id);
      this.#runs.checkRetried(id, { readableSinceMs, pauseMs, nowMs, lastMs: last?.atMs ?? 0 });
      const idleMs = nowMs - Math.max(readableSinceMs, last?.atMs ?? 0);
      if (idleMs > limitMs + LATEST_RETRY_MS + this.#lateMs)
        throw new PromiseBroken('what is due is done', `${id} was not read for ${minutes(idleMs)} minutes`);
      const fitMs = nowMs - Math.max(someoneFitSinceMs, clocksRightSinceMs, this.hasSinceMs(id)) - limitMs;
      const staleMs = Math.min(overdueMs({ last, pauseMs, nowMs }), fitMs);
      // Two looks have to find it, and in a world of weeks each of them may be late.
      if (staleMs > TOLD_AFTER_MS + 2 * this.#lateMs && !alarmed.includes(id) && this.#underWaySinceMs(id) === null)
        throw new PromiseBroken('what is stale is told', `${id} has been for ${minutes(staleMs)} minutes`);
    }
  }

  #isReadable(workspaceId: string): boolean {
    return Number.isFinite(this.readableSinceMs(workspaceId));
  }

  /** Whether all that was put off is done since then: there is nothing more to wait for. */
  isSettled(sinceMs: number): boolean {
    const ledger = this.#ledger;
    const nowMs = this.#world.clock.now();
    if (ledger === null || this.stage.people.under > 0 || this.stage.isSplitting || nowMs - sinceMs < 30 * MINUTE_MS)
      return false;
    const isRead = (id: string): boolean => (this.#applied.of(id).at(-1)?.atMs ?? 0) > sinceMs;
    if (this.#plan.workspaces.some(({ id }) => this.#isReadable(id) && !isRead(id))) return false;
    if (!this.#deliveries.isDone({ nowMs, servedSinceMs: (channel) => this.#conditions.servedSinceMs(channel) }))
      return false;
    const soon = new Date(nowMs + 2 * 60 * MINUTE_MS).toISOString();
    if (ledger.value<bigint>('SELECT count(*) FROM alert_notified WHERE pending IS NULL AND due_at <= ?', soon) > 0n)
      return false;
    if (this.#isFirst && this.#known.billed.missing(ledger, nowMs, this.#isOurs) !== null) return false;
    return !this.isReading;
  }

  get isReading(): boolean {
    return (this.#ledger?.value<bigint>("SELECT count(*) FROM runs WHERE status = 'running'") ?? 0n) > 0n;
  }

  lookAtRest(): void {
    this.look();
    const ledger = this.#ledger;
    if (ledger === null) throw new PromiseBroken('there is a ledger', 'nothing was ever written');
    this.#soundness.checkAtRest(ledger);
    this.#runs.checkAtRest(ledger);
    if (this.#isFirst) this.#known.billed.checkAtRest(ledger, this.#world.clock.now(), this.#isOurs);
    this.#known.told.checkAtRest(ledger, this.#listeners(), this.#isOurs, (id) => this.#isReadable(id));
    for (const [index, seat] of this.stage.seats.entries())
      if (seat.running === null) throw new PromiseBroken('the daemons run', `seat ${index} is down`);
    if (this.stage.isSplitting && this.#plan.workspaces.every(({ id }) => this.#applied.of(id).length > 0))
      throw new PromiseBroken('a split that was broken off can be done again', 'it is not done at rest');
    if (this.#world.clock.waiting > 500)
      throw new PromiseBroken('nothing piles up', `${this.#world.clock.waiting} timers wait`);
  }

  /** The channels that there are. */
  #listeners(): readonly Listener[] {
    const { decided, receivers } = this.#world;
    return (decided?.routes ?? []).flatMap((route) => {
      const receiver = receivers.find(({ name }) => name === route.name);
      const hasAll = this.#known.watches.every((watch) => watch.#hasSentAll(route.name));
      return receiver === undefined ? [] : [{ receiver, route, hasAll }];
    });
  }

  #hasSentAll = (channel: string): boolean => this.#ledger !== null && this.#deliveries.hasAll(channel, this.#ledger);

  #checkWords(ledger: LedgerView, moment: WordsMoment): void {
    const listeners = this.#listeners();
    this.#words.checkCriticals(ledger, listeners, moment);
    if (this.#plan.happenings.some(({ kind }) => kind === 'clock' || kind === 'service_clock')) return;
    this.#words.checkSettled(ledger, listeners, {
      ...moment,
      firstRunMs: (id) => Math.max(this.hasSinceMs(id), this.#applied.of(id)[0]?.storedMs ?? Number.POSITIVE_INFINITY),
      audibleSinceMs: (id) => {
        const mutedMs = this.#known.muted.lastEndMs(id);
        return mutedMs > moment.nowMs ? Number.POSITIVE_INFINITY : Math.max(mutedMs, this.readableSinceMs(id));
      },
    });
  }

  /** The processes die with their world. */
  end(): void {
    for (const { fault, count } of this.#isFirst ? faultsMet(this.#world) : []) this.meet(fault, count);
    this.meet('death in the middle of something', this.#world.deaths);
    for (const seat of this.stage.seats) seat.process?.kill('ends with the world');
    this.#ledger?.close();
  }
}
