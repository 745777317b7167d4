import { existsSync } from 'node:fs';
import { PromiseBroken } from '../oracle/fault.ts';
import { checkFreshness, staleAfterMs } from '../oracle/freshness.ts';
import { LedgerView } from '../oracle/ledger-view.ts';
import { PublishedFiguresOracle } from '../oracle/published-figures.ts';
import { SoundnessOracle } from '../oracle/soundness.ts';
import { inShort, ToldOracle } from '../oracle/told.ts';
import { type RunningDaemon, Seat } from '../world/seat.ts';
import { monthOf } from '../world/service.ts';
import { ProcessDied } from '../world/statements.ts';
import type { World } from '../world/world.ts';
import type { Stage } from './obstacles.ts';
import { People } from './people.ts';
import type { Plan } from './plan.ts';

const HOUR_MS = 3_600_000;
/** Whoever was refused is asked again after an hour at the latest. */
const LATEST_RETRY_MS = 70 * 60_000;

interface Published {
  run_key: bigint;
  run_id: string;
  applied_seq: bigint;
  workspace_id: string;
  from_period: string | null;
  to_period: string | null;
}

/** Looks at the world with every oracle that there is. */
export class Watch {
  readonly met = new Map<string, number>();
  readonly stage: Stage;
  readonly #plan: Plan;
  readonly #world: World;
  #ledger: LedgerView | null = null;
  readonly #soundness = new SoundnessOracle();
  readonly #figures = new PublishedFiguresOracle();
  readonly #told: ToldOracle;
  readonly #heard = new Map<string, number>();
  readonly #began = new Map<bigint, number>();
  readonly #lastRun = new Map<string, { atMs: number; offsetMs: number }>();
  #lastLookMs: number;
  #position = 0n;
  #clockWrongMs = Number.NEGATIVE_INFINITY;
  #troubledMs: number;
  #wasTroubled = true;
  #nextProbeMs = 0;
  #fault: PromiseBroken | null = null;

  constructor(plan: Plan, world: World) {
    this.#plan = plan;
    this.#world = world;
    this.#lastLookMs = world.clock.now();
    this.#troubledMs = this.#lastLookMs;
    this.#told = new ToldOracle(world.services);
    const people = new People(
      world,
      () => this.#ledger,
      (typing) => {
        if (typing.stderr.includes('    at '))
          this.#fault ??= new PromiseBroken('no command ends in a stack', `${typing.argv.join(' ')}: ${typing.stderr}`);
      },
    );
    this.stage = { world, seats: world.hosts.map((host, index) => new Seat(world, index, host)), people, ends: [] };
    world.logged = (process, line) => {
      if (!process.alive) return;
      const entry = JSON.parse(line) as { code?: string; msg: string; stack?: string; reason?: string };
      world.note(`${process.name} says ${entry.msg} ${entry.code ?? ''} ${entry.reason ?? ''}`);
      if (entry.code === 'internal')
        this.#fault ??= new PromiseBroken(
          'no defect shows in the log',
          `${entry.msg}: ${entry.reason} ${entry.stack ?? ''}`,
        );
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

  look(): void {
    if (this.#fault !== null) throw this.#fault;
    const nowMs = this.#world.clock.now();
    this.#clocksWereRight(nowMs);
    const troubled = this.#isTroubled();
    if (troubled || this.#wasTroubled) this.#troubledMs = nowMs;
    this.#wasTroubled = troubled;
    const ledger = this.#open();
    if (ledger?.hasChanged()) ledger.atOnce(() => this.#lookAt(ledger));
    for (const receiver of this.#world.receivers) {
      for (const message of receiver.inbox.slice(this.#heard.get(receiver.name) ?? 0)) {
        this.#world.note(`told ${inShort(message)}`);
        this.#told.check(message, this.#clocksWereRight(nowMs) ? (id) => this.#truthOf(id) : null);
        this.meet('message told');
      }
      this.#heard.set(receiver.name, receiver.inbox.length);
    }
    if (nowMs >= this.#nextProbeMs) {
      this.#nextProbeMs = nowMs + 20 * 60_000;
      this.#checkDue(nowMs);
      this.#probe();
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
    this.#soundness.check(ledger, this.#clockWrongMs === Number.NEGATIVE_INFINITY);
    for (const { run_key } of ledger.all<{ run_key: bigint }>("SELECT run_key FROM runs WHERE status = 'running'")) {
      if (!this.#began.has(run_key)) this.#began.set(run_key, this.#lastLookMs);
    }
    const published = ledger.all<Published>(
      `SELECT r.run_key, r.run_id, r.applied_seq, w.workspace_id, r.from_period, r.to_period FROM runs r
       JOIN workspaces w ON w.workspace_key = r.workspace_key WHERE r.applied_seq > ? ORDER BY r.applied_seq`,
      this.#position,
    );
    for (const { run_key, run_id, applied_seq, workspace_id, from_period, to_period } of published) {
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
      this.#lastRun.set(workspace_id, { atMs: nowMs, offsetMs: this.#world.hosts[0]?.clockOffsetMs ?? 0 });
      this.meet('run applied');
    }
    this.#world.note(`head ${this.#soundness.head}`);
  }

  /** Whether every clock of the world is right, and has been for long enough that nothing wrong is remembered. */
  #clocksWereRight(nowMs: number): boolean {
    if (this.#world.hosts.some(({ clockOffsetMs }) => clockOffsetMs !== 0)) this.#clockWrongMs = nowMs;
    return nowMs - this.#clockWrongMs > 30 * HOUR_MS;
  }

  #truthOf(workspaceId: string): { lastRunMs: number | null; staleAfterMs: number } {
    const { pauseMs = 0 } = this.#plan.workspaces.find(({ id }) => id === workspaceId) ?? {};
    return { lastRunMs: this.#lastRun.get(workspaceId)?.atMs ?? null, staleAfterMs: staleAfterMs(pauseMs) };
  }

  /** Whether anything in the world keeps runs from being done. */
  #isTroubled(): boolean {
    const { network, services, hosts, broker } = this.#world;
    return (
      network.troubles.size > 0 ||
      broker.away ||
      services.some(({ clockSkewMs }) => clockSkewMs !== 0) ||
      hosts.some(({ clockOffsetMs, disk }) => clockOffsetMs !== 0 || disk !== null) ||
      this.stage.seats.some(({ running }) => running === null || running.process.frozen)
    );
  }

  /** Whatever was wrong before: once nothing is, each workspace is read before it would be stale. */
  #checkDue(nowMs: number): void {
    for (const { id, pauseMs } of this.#plan.workspaces) {
      const sinceMs = Math.max(this.#troubledMs, this.#lastRun.get(id)?.atMs ?? 0);
      if (nowMs - sinceMs <= staleAfterMs(pauseMs) + LATEST_RETRY_MS) continue;
      throw new PromiseBroken(
        'what is due is done',
        `${id} was not read for ${Math.round((nowMs - sinceMs) / 60_000)} minutes`,
      );
    }
  }

  /** Every daemon says how fresh each workspace is. */
  #probe(): void {
    for (const { running } of this.stage.seats) {
      if (running === null || !running.process.alive) continue;
      for (const { workspaceId, stale } of askFreshness(running)) {
        const last = this.#lastRun.get(workspaceId);
        const { pauseMs = 0 } = this.#plan.workspaces.find(({ id }) => id === workspaceId) ?? {};
        const offsets = this.#world.hosts.map(({ clockOffsetMs }) => clockOffsetMs);
        checkFreshness({
          workspaceId,
          stale,
          daemonSinceMs: running.sinceMs,
          lastRunMs: last?.atMs ?? null,
          pauseMs,
          clockRight: offsets.every((offset) => offset === 0) && (last?.offsetMs ?? 0) === 0,
          nowMs: this.#world.clock.now(),
        });
      }
    }
  }

  async lookAtRest(): Promise<void> {
    this.look();
    const ledger = this.#ledger;
    const nowMs = this.#world.clock.now();
    if (ledger === null) throw new PromiseBroken('there is a ledger', 'nothing was ever written');
    this.#soundness.checkAtRest(ledger);
    const { receivers } = this.#world;
    const faithful = receivers.filter(({ met, digest }) => met.size === 0 && !digest).map(({ name }) => name);
    this.#told.checkAtRest(
      ledger,
      receivers.flatMap(({ inbox }) => inbox),
      faithful,
      nowMs,
    );
    for (const { id, pauseMs } of this.#plan.workspaces) {
      const last = this.#lastRun.get(id);
      if (last === undefined || nowMs - last.atMs > staleAfterMs(pauseMs)) {
        throw new PromiseBroken(
          'all that is due is done',
          `${id} was last read at ${last === undefined ? 'no time' : new Date(last.atMs).toISOString()}`,
        );
      }
    }
    for (const [index, seat] of this.stage.seats.entries()) {
      if (seat.running === null) throw new PromiseBroken('the daemons run', `seat ${index} is down`);
    }
    if (this.#world.clock.waiting > 500)
      throw new PromiseBroken('nothing piles up', `${this.#world.clock.waiting} timers wait`);
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

/** What a daemon says of its workspaces; nothing when it dies while it is asked. */
function askFreshness({ process, daemon }: RunningDaemon): readonly { workspaceId: string; stale: boolean }[] {
  try {
    return process.run(() => daemon.probe.freshness());
  } catch (error) {
    if (isDeath(error)) return [];
    throw error;
  }
}

function isDeath(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  return (
    reason instanceof ProcessDied ||
    reason.message.includes('is dead') ||
    reason.message.includes('connection is not open') ||
    isDeath(reason.cause)
  );
}
