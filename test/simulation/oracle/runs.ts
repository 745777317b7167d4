import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

// cspell:ignore manieth nobodys unblamed

interface RunRow {
  run_key: bigint;
  run_id: string;
  workspace_id: string;
  kind: string;
  slot: string | null;
  status: string;
  fencing_token: bigint;
  error_code: string | null;
  error_message: string | null;
  /** Of the lease that it holds. */
  holder: string | null;
}

/** What is so in the world while the runs are looked at. */
export interface RunsMoment {
  nowMs: number;
  clocksRightSinceMs: number;
  /** Since when no run of a workspace has a reason to fail. */
  faultlessSinceMs(workspaceId: string): number;
  checkSecrets(text: string, where: string): void;
  /** Whether the process of that name goes on, and could renew its leases all the time. */
  goesOn(process: string): boolean;
}

interface Watched extends Pick<RunRow, 'workspace_id' | 'holder' | 'status'> {
  sinceMs: number;
}

/** A workspace since nothing keeps it from being read. */
export interface Readable {
  readableSinceMs: number;
  /** Between two slots of its cron. */
  pauseMs: number;
  /** When its last complete run was published. */
  lastMs: number;
  nowMs: number;
}

/** After more failures in a row the slots alone try again. */
const PATIENT = 10;
/** A look comes late, and so does the next one. */
const RETRY_SLACK_MS = 20 * 60_000;

const SELECT = `SELECT r.run_key, r.run_id, w.workspace_id, r.kind, r.slot, r.status, r.fencing_token, r.error_code, r.error_message,
    l.holder_start AS holder
  FROM runs r JOIN workspaces w ON w.workspace_key = r.workspace_key
  LEFT JOIN leases l ON l.workspace_key = r.workspace_key AND l.fencing_token = r.fencing_token
  WHERE r.run_key > ? OR r.run_key IN (SELECT value FROM json_each(?)) ORDER BY r.run_key`;
const HELD = `SELECT r.run_id, r.status FROM leases l
  JOIN runs r ON r.workspace_key = l.workspace_key AND r.fencing_token = l.fencing_token
  WHERE l.released = 0 AND r.status <> 'running'`;
/** In a row before a run. */
const FAILED = `SELECT count(*) FROM runs r JOIN runs own ON own.run_key = ? AND own.workspace_key = r.workspace_key
  WHERE r.run_key < own.run_key AND r.kind = 'scheduled' AND coalesce(r.error_code, '') NOT IN ('stopping', 'cancelled')
    AND r.run_key > coalesce((SELECT max(a.run_key) FROM runs a
      WHERE a.workspace_key = r.workspace_key AND a.run_key < own.run_key AND a.status = 'applied'), 0)`;
const REFUSALS: readonly (string | null)[] = ['unauthorized', 'forbidden'];
const STOPS: readonly (string | null)[] = ['stopping', 'cancelled'];

/**
 * One run of a workspace at a time: who has overtaken another ends it, who was overtaken applies nothing and is nobody's
 * fault, and a slot is done once.
 */
export class RunsOracle {
  readonly #retrySlackMs: number;
  #lastKey = 0n;
  /** Runs that may still change, or must not any more: when they were first seen, and who holds them. */
  readonly #watched = new Map<bigint, Watched>();
  /** The highest token that was there at the last look, by workspace. */
  readonly #tokens = new Map<string, bigint>();
  /** When the run began that did it, in whichever ledger. */
  readonly #slots: Map<string, number>;
  /** When the latest run of a workspace has failed in a way that may pass by itself, and the how manieth in a row that was. */
  readonly #failed = new Map<string, { atMs: number; times: number; throttled: boolean }>();

  /** `lateMs`: by how much looks at what is due may be later than is usual. */
  constructor(lateMs: number, slots: Map<string, number>) {
    this.#retrySlackMs = RETRY_SLACK_MS + lateMs;
    this.#slots = slots;
  }

  /** What is there was done in another ledger, and looked at there. */
  skip(ledger: LedgerView): void {
    this.#lastKey = ledger.value<bigint | null>('SELECT max(run_key) FROM runs') ?? 0n;
  }

  check(ledger: LedgerView, moment: RunsMoment): void {
    const rows = ledger.all<RunRow>(SELECT, this.#lastKey, `[${[...this.#watched.keys()].join()}]`);
    checkUnblamed(
      ledger,
      rows.filter((row) => this.#isNobodysFault(row, moment)),
    );
    for (const row of rows) this.#take(ledger, row, moment);
    const running = rows.filter(({ status }) => status === 'running');
    for (const [index, row] of running.entries()) {
      const other = running.slice(0, index).find(({ workspace_id }) => workspace_id === row.workspace_id);
      if (other !== undefined)
        throw new PromiseBroken('who overtakes a run ends it', `${other.run_id} runs beside ${row.run_id}`);
    }
    const [held] = ledger.all<{ run_id: string; status: string }>(HELD);
    if (held !== undefined)
      throw new PromiseBroken('who has ended holds nothing', `${held.run_id} is ${held.status} and has its lease`);
    for (const { workspace_id, fencing_token } of rows) {
      const highest = this.#tokens.get(workspace_id) ?? 0n;
      if (fencing_token > highest) this.#tokens.set(workspace_id, fencing_token);
    }
  }

  /** It was overtaken or stopped, and had no other reason to fail. */
  #isNobodysFault({ run_key, workspace_id, status, error_code }: RunRow, moment: RunsMoment): boolean {
    if (status !== 'superseded' && !STOPS.includes(error_code)) return false;
    return moment.faultlessSinceMs(workspace_id) <= (this.#watched.get(run_key)?.sinceMs ?? moment.nowMs);
  }

  #take(ledger: LedgerView, row: RunRow, moment: RunsMoment): void {
    const { run_key, run_id, workspace_id, status, fencing_token } = row;
    moment.checkSecrets(row.error_message ?? '', run_id);
    const { sinceMs, holder, status: before } = this.#watched.get(run_key) ?? { sinceMs: moment.nowMs, ...row };
    if (before === 'superseded' && status !== before)
      throw new PromiseBroken('who was overtaken applies nothing', `${run_id} was superseded and is ${status}`);
    if (status === 'applied' && fencing_token < (this.#tokens.get(workspace_id) ?? 0n))
      throw new PromiseBroken('who was overtaken applies nothing', `${run_id} was published after a later claim`);
    if (status === 'applied') this.#checkSlot(row, sinceMs, moment);
    if (status === 'superseded' && before === 'running' && holder !== null) {
      const clocksRight = moment.clocksRightSinceMs <= sinceMs;
      if (clocksRight && moment.faultlessSinceMs(workspace_id) <= sinceMs && moment.goesOn(holder))
        throw new PromiseBroken('a live run is not overtaken', `${run_id} of ${holder}`);
    }
    if (before !== 'superseded') this.#countFailure(ledger, row, moment.nowMs);
    if (run_key > this.#lastKey) this.#lastKey = run_key;
    if (status === 'running' || status === 'superseded') {
      this.#watched.set(run_key, { workspace_id, sinceMs, holder: holder ?? row.holder, status });
    } else this.#watched.delete(run_key);
  }

  /** When the run of a workspace that is under way was first seen; null when there is none. */
  runningSinceMs(workspaceId: string): number | null {
    const own = [...this.#watched.values()].filter(({ workspace_id }) => workspace_id === workspaceId);
    return own.find(({ status }) => status === 'running')?.sinceMs ?? null;
  }

  #countFailure(ledger: LedgerView, row: RunRow, nowMs: number): void {
    const { run_key, workspace_id, kind, status, error_code } = row;
    if (status === 'applied') this.#failed.delete(workspace_id);
    if (kind !== 'scheduled' || status === 'applied' || STOPS.includes(error_code)) return;
    // A workspace brings along how often it has failed where it was.
    const times = this.#failed.get(workspace_id)?.times ?? Number(ledger.value<bigint>(FAILED, run_key));
    // One that runs need not begin, and who is refused rests for longer.
    const isOwed = status !== 'running' && !REFUSALS.includes(error_code);
    this.#failed.set(workspace_id, {
      atMs: isOwed ? nowMs : Number.POSITIVE_INFINITY,
      times: status === 'running' ? times : times + 1,
      throttled: error_code === 'rate_limited',
    });
  }

  /** What failed is tried again within half a pause at first, and a whole one where the service asked to wait, once nothing is in its way. */
  checkRetried(workspaceId: string, { readableSinceMs, pauseMs, lastMs, nowMs }: Readable): void {
    const failed = this.#failed.get(workspaceId);
    if (failed === undefined) {
      if (nowMs - Math.max(lastMs, readableSinceMs) > pauseMs + this.#retrySlackMs)
        throw new PromiseBroken('each slot is done', `${workspaceId} was not read since its last slot`);
      return;
    }
    const waitedMs = nowMs - Math.max(failed.atMs, readableSinceMs);
    const longestMs = failed.throttled || failed.times > PATIENT ? pauseMs : pauseMs / 2;
    if (waitedMs > longestMs + this.#retrySlackMs)
      throw new PromiseBroken('what failed is tried again', `${workspaceId} failed ${waitedMs} ms ago`);
  }

  /** A slot comes again on a clock that was set back, also while its run was under way. */
  #checkSlot({ run_id, workspace_id, kind, slot }: RunRow, beganMs: number, { clocksRightSinceMs }: RunsMoment): void {
    if (slot === null) return;
    const key = JSON.stringify([workspace_id, kind, slot]);
    const beganBeforeMs = this.#slots.get(key);
    if (beganBeforeMs !== undefined && clocksRightSinceMs < beganBeforeMs)
      throw new PromiseBroken('a slot is done once', `${run_id} did ${key} again`);
    this.#slots.set(key, beganMs);
  }

  /** Once everything has been quiet for a while. */
  checkAtRest(ledger: LedgerView): void {
    const running = ledger.value<bigint>("SELECT count(*) FROM runs WHERE status = 'running'");
    if (running > 0n) throw new PromiseBroken('no run stays open', `${running} runs are running at rest`);
    const held = ledger.value<bigint>('SELECT count(*) FROM leases WHERE released = 0');
    if (held > 0n) throw new PromiseBroken('no lease stays held', `${held} leases are held at rest`);
  }
}

function checkUnblamed(ledger: LedgerView, rows: readonly RunRow[]): void {
  if (rows.length === 0) return;
  const [blamed] = ledger.all<{ run_id: string; alert_id: string; change: string }>(
    `SELECT r.run_id, a.alert_id, t.change
     FROM alert_transitions t JOIN alerts a ON a.alert_key = t.alert_key JOIN runs r ON r.run_key = t.run_key
     WHERE t.run_key IN (SELECT value FROM json_each(?)) AND a.rule = 'sync_failed' AND t.change IN ('pending', 'fired')`,
    `[${rows.map(({ run_key }) => run_key).join()}]`,
  );
  if (blamed === undefined) return;
  const { run_id, alert_id, change } = blamed;
  throw new PromiseBroken('a take-over or stop is nobody’s fault', `${run_id}: ${alert_id} ${change}`);
}
