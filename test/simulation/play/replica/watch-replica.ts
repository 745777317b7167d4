import { existsSync } from 'node:fs';
import { PromiseBroken } from '../../oracle/fault.ts';
import { LedgerView } from '../../oracle/ledger-view.ts';
import {
  type ComparedTable,
  checkViews,
  comparedTables,
  contentsOfLedger,
  heldLedger,
} from '../../oracle/replica/contents.ts';
import { ReplicaOracle } from '../../oracle/replica/replica.ts';
import type { SimulatedPostgres } from '../../world/postgres/server.ts';
import type { World } from '../../world/world.ts';
import { askReadiness } from '../ask-readiness.ts';
import { Conditions } from '../conditions.ts';
import { LOOK_MS, type Plan } from '../plan.ts';
import type { Watch } from '../watch.ts';

const MINUTE_MS = 60_000;
const PROBE_MS = 10 * MINUTE_MS;
/** After this at the latest, what was put right is published, and what was told has its end. */
const REST_MS = 90 * MINUTE_MS;

/** One ledger that is published. */
interface Published {
  watch: Watch;
  ledger: LedgerView;
  ledgerId: string;
  tables: readonly ComparedTable[];
  oracle: ReplicaOracle;
  conditions: Conditions;
}

/** Looks at the replica of a world beside its ledgers. */
export class WatchReplica {
  readonly #world: World;
  readonly #postgres: SimulatedPostgres;
  readonly #watches: readonly Watch[];
  readonly #lateMs: number;
  readonly #published = new Map<Watch, Published>();
  #commits = 0;
  #emptied = 0;
  #transaction: number | null = null;
  #wellSinceMs = Number.POSITIVE_INFINITY;
  #nextProbeMs = 0;

  constructor(world: World, postgres: SimulatedPostgres, watches: readonly Watch[], { lookMs }: Plan) {
    this.#world = world;
    this.#postgres = postgres;
    this.#watches = watches;
    this.#lateMs = lookMs - LOOK_MS;
  }

  /** After every event. */
  look(): void {
    const nowMs = this.#world.clock.now();
    this.#open();
    const { transaction, commits, emptied, isEdited, isWell } = this.#postgres;
    // What was taken away is noticed with the next news, and is there again after the look that follows.
    const isEmpty = emptied > 0 && [...this.#published.values()].some(({ oracle }) => oracle.holdsNothing);
    const isEmptied = emptied !== this.#emptied || isEmpty;
    if (!isWell || isEdited || isEmptied) this.#wellSinceMs = Number.POSITIVE_INFINITY;
    else if (this.#wellSinceMs === Number.POSITIVE_INFINITY) this.#wellSinceMs = nowMs;
    const isNew = transaction !== null && transaction !== this.#transaction;
    this.#transaction = transaction;
    for (const { ledger, tables, oracle, conditions } of this.#published.values()) {
      conditions.look(nowMs);
      const hasChanged = ledger.hasChanged();
      if (hasChanged) oracle.noteHead(ledger, nowMs);
      if (isNew && commits === this.#commits) oracle.forgetMoments();
      if (isNew || (hasChanged && transaction !== null)) oracle.noteMoment(contentsOfLedger(ledger, tables), nowMs);
      if (emptied !== this.#emptied) oracle.noteEmptied();
    }
    this.#emptied = emptied;
    if (commits !== this.#commits) this.#lookAtReplica();
    this.#commits = commits;
    if (nowMs >= this.#nextProbeMs) {
      this.#nextProbeMs = nowMs + PROBE_MS + this.#lateMs;
      for (const one of this.#published.values()) this.#probe(one, nowMs);
    }
  }

  /** What is there is looked at once it can be opened. */
  #open(): void {
    for (const watch of this.#watches) {
      if (this.#published.has(watch)) continue;
      const { world, seats } = watch.stage;
      if (!existsSync(world.ledgerPath)) continue;
      const ledger = new LedgerView(world.ledgerPath);
      const ledgerId = ledgerIdOf(ledger);
      if (ledgerId === null) {
        ledger.close();
        continue;
      }
      const [tables, oracle] = [comparedTables(ledger), new ReplicaOracle()];
      this.#published.set(watch, { watch, ledger, ledgerId, tables, oracle, conditions: new Conditions(world, seats) });
    }
  }

  #lookAtReplica(): void {
    const { engine, isEdited } = this.#postgres;
    for (const { watch, ledger, ledgerId, tables, oracle } of this.#published.values()) {
      const held = heldLedger(engine, ledgerId, tables);
      const isNews = oracle.check(ledger, held, isEdited);
      if (isNews) {
        watch.meet('ledger published');
        this.#world.note(`the replica holds link ${held?.position} of ${ledgerId} ${held?.headDigest}`);
      }
      oracle.forgetMoments();
    }
    if (isEdited && this.#isLevel) this.#postgres.isEdited = false;
  }

  #probe({ watch, ledger, oracle, conditions }: Published, nowMs: number): void {
    const moment = { nowMs, wellSinceMs: this.#wellSinceMs, lateMs: this.#lateMs };
    for (const seat of watch.stage.seats) {
      const { running, host } = seat;
      if (running === null || !running.process.alive || running.process.frozen || host.clockOffsetMs !== 0) continue;
      const said = askReadiness(running);
      if (said !== null) oracle.checkSaid(said.replica, { ...moment, fitSinceMs: conditions.fitSinceMs(seat) });
    }
    const { someoneFitSinceMs, clocksRightSinceMs, disksWellSinceMs } = conditions;
    const fitSinceMs = Math.max(someoneFitSinceMs, clocksRightSinceMs, disksWellSinceMs);
    oracle.checkDue(ledger, { ...moment, fitSinceMs });
  }

  /**
   * Once everything is quiet: what somebody has edited is put right as documented, and then the replica has what the ledgers
   * have, and its views say so. `run` lets the world go on until then.
   */
  async rest(run: (endMs: number) => Promise<void>): Promise<void> {
    const { clock } = this.#world;
    for (const { watch, oracle } of this.#published.values()) {
      // What was taken away a daemon notices when there is something new.
      if (this.#postgres.isEdited || oracle.holdsNothing) {
        let code: number | null = null;
        void watch.stage.people.run(['publish', '--replace']).then((ended) => {
          code = ended;
        });
        const beginMs = clock.monotonic();
        for (let restMs = 0; restMs < REST_MS + this.#lateMs && code === null; restMs += MINUTE_MS)
          await run(beginMs + restMs + MINUTE_MS);
        if (code !== 0) throw new PromiseBroken('what somebody has edited is put right', `it ended with ${code}`);
      }
    }
    const beginMs = clock.monotonic();
    const sinceMs = this.#world.clock.now();
    // The next run may come before each look, so that all are never alike at once: each has been once, since then.
    const complete = new Set<Published>();
    const isDone = (): boolean => {
      for (const one of this.#published.values())
        if (one.oracle.asOfMs >= sinceMs || missingOf(one) === null) complete.add(one);
      return this.#isLevel || [...this.#published.values()].every((one) => complete.has(one) && !one.watch.isReading);
    };
    for (let restMs = 0; restMs < REST_MS + this.#lateMs && !isDone(); restMs += MINUTE_MS)
      await run(beginMs + restMs + MINUTE_MS);
    for (const one of this.#published.values()) {
      const missing = complete.has(one) ? null : missingOf(one);
      if (missing !== null) throw new PromiseBroken('at rest the replica has what the ledger has', missing);
    }
    if (this.#isLevel) this.#checkViews();
  }

  /** Whether the replica has what all ledgers have now, and nobody is about to change that. */
  get #isLevel(): boolean {
    const published = [...this.#published.values()];
    return this.#postgres.transaction === null && published.every((one) => missingOf(one) === null);
  }

  #checkViews(): void {
    for (const { watch, ledger } of this.#published.values())
      checkViews(this.#postgres.engine, ledger, (id) => watch.has(id));
  }

  end(): void {
    for (const { ledger } of this.#published.values()) ledger.close();
  }
}

/** What the replica has otherwise than the ledger has it now, in words; null when that is nothing. */
function missingOf({ ledger, tables, oracle }: Published): string | null {
  return oracle.whatIsMissing(contentsOfLedger(ledger, tables));
}

/** Null while the ledger is being made. */
function ledgerIdOf(ledger: LedgerView): string | null {
  if (ledger.value<bigint>("SELECT count(*) FROM sqlite_schema WHERE name = 'finance_usage'") === 0n) return null;
  return ledger.value<string | undefined>("SELECT value FROM ledger_meta WHERE name = 'ledger_id'") ?? null;
}
