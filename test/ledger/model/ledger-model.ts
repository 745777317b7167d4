import { isLater, iso, monthAfter, monthSpan } from './calendar.ts';
import type {
  Adjustment,
  Dates,
  Figure,
  Listing,
  ModelRun,
  PeriodState,
  Range,
  Reason,
  Row,
  Usage,
} from './model-parts.ts';
import { changeOf, end, periodOf, stateOf, sumOf, textOf, within, withStopped } from './model-parts.ts';

/** One workspace; workspaces share nothing. */
export class WorkspaceModel {
  readonly id: string;
  readonly runs: ModelRun[] = [];
  readonly #applied: ModelRun[] = [];
  readonly #figures = new Map<string, Figure>();
  readonly #periods = new Map<string, PeriodState>();
  readonly #absent = new Set<string>();
  readonly #history: Row[] = [];
  readonly #adjustments: Adjustment[] = [];
  readonly #events: Row[] = [];
  /** What the last applied run asked for, and what it was shown. */
  #proven = '';
  #token = 0;
  #heldUntilMs = 0;

  constructor(id: string) {
    this.id = id;
  }

  get periods(): string[] {
    return [...this.#periods.keys()].sort();
  }

  isHeld(nowMs: number): boolean {
    return nowMs < this.#heldUntilMs;
  }
  capLease(nowMs: number, leaseMs: number): void {
    this.#heldUntilMs = Math.min(this.#heldUntilMs, nowMs + leaseMs);
  }

  isClosed(period: string): boolean {
    return this.#period(period).close !== null;
  }

  claim(runId: string, range: Range, nowMs: number, leaseMs: number): ModelRun {
    this.#token += 1;
    this.#heldUntilMs = nowMs + leaseMs;
    for (const run of this.runs) {
      if (run.status === 'running') end(run, { status: 'superseded', at: nowMs, errorCode: 'superseded' });
    }
    const run: ModelRun = {
      runId,
      range,
      token: this.#token,
      status: 'running',
      from: range.from,
      to: range.to,
      startedAt: iso(nowMs),
      finishedAt: null,
      pages: 0,
      records: 0,
      entries: 0,
      errorCode: null,
    };
    this.runs.push(run);
    return run;
  }

  mayPublish(run: ModelRun): boolean {
    return run.token === this.#token && this.#heldUntilMs > 0;
  }

  fail(run: ModelRun, status: string, errorCode: string, size: { pages: number; records: number }, nowMs: number) {
    if (run.status === 'running') {
      Object.assign(run, size);
      end(run, { status, at: nowMs, errorCode });
    }
    this.#release(run.token);
  }

  /** Records inside the range that stand and are not withdrawn. */
  knownRecords({ from, to }: Range): number {
    return [...this.#figures.values()].filter(({ period, withdrawn }) => !withdrawn && within(period, from, to)).length;
  }

  /** `period tenant` of what an earlier run missed and this listing misses again. */
  absentAgain({ from, to }: Range, listing: Listing): string[] {
    return [...this.#absent].filter((key) => within(periodOf(key), from, to) && !listing.usage.has(key)).sort();
  }

  /** Whether the last applied run was shown the very listing of the same window, and nothing waits to be missed again. */
  isKnown(range: Range, listing: Listing): boolean {
    return this.#proven === textOf(range, listing) && this.#absent.size === 0;
  }

  publish(run: ModelRun, listing: Listing, gone: readonly string[], service: (period: string) => Dates, nowMs: number) {
    const at = iso(nowMs);
    this.#proven = textOf(run.range, listing);
    for (const key of listing.usage.keys()) this.#name(periodOf(key), service(periodOf(key)));
    const covered = this.periods.filter((period) => within(period, run.range.from, run.range.to));
    for (const period of covered) {
      this.#period(period).asOf = at;
      this.#period(period).askedAt = run.startedAt;
    }
    const changes: Row[] = [];
    for (const [key, usage] of listing.usage) {
      const kind = this.#kindOf(key, usage);
      if (kind !== null) changes.push(this.#change(run, key, kind, usage, at));
      if (this.#absent.delete(key)) this.#period(periodOf(key)).unsteadyUntil = this.#applied.length;
    }
    for (const key of gone) {
      changes.push(this.#change(run, key, 'withdrawn', { credits: 0n, requests: 0n }, at));
      this.#absent.delete(key);
    }
    for (const [key, { period, withdrawn }] of this.#figures) {
      if (!withdrawn && covered.includes(period) && !listing.usage.has(key)) this.#absent.add(key);
    }
    for (const change of changes) this.#adjust(run.runId, change, at);
    this.#history.push(...changes);
    end(run, { status: 'applied', at: nowMs, errorCode: null });
    run.from ??= covered[0] ?? null;
    run.to ??= covered.at(-1) ?? null;
    run.pages = listing.pages;
    run.records = listing.usage.size;
    run.entries = changes.length;
    this.#applied.push(run);
    this.#release(run.token);
  }

  /** What speaks against a close now. */
  reasons(period: string, settleHours: number, nowMs: number): Reason[] {
    const { endMs } = monthSpan(period);
    if (nowMs < endMs) return ['not_over'];
    const reasons: Reason[] = [];
    if (nowMs < endMs + settleHours * 3_600_000) reasons.push('settling');
    const agreeing = this.#applied.slice(this.#period(period).unsteadyUntil).filter(({ from, to, startedAt }) => {
      const startMs = Date.parse(startedAt);
      // What a clock has seen that was ahead proves nothing until then.
      return from && to && within(period, from, to) && startMs >= endMs && startMs <= nowMs + 60_000;
    });
    const last = agreeing.at(-1);
    const firstEndMs = Math.min(...agreeing.map(({ finishedAt }) => Date.parse(finishedAt ?? '')));
    if (last === undefined) reasons.push('no_walk');
    else if (Date.parse(last.startedAt) - firstEndMs < 12 * 3_600_000) reasons.push('no_second_walk');
    if ([...this.#absent].some((key) => periodOf(key) === period)) reasons.push('absent');
    return reasons;
  }

  close(period: string, by: string, note: string, reasons: Reason[], nowMs: number): void {
    const at = iso(nowMs);
    const figures = new Map([...this.#figures].filter(([key]) => periodOf(key) === period));
    const frozen = new Map([...figures].map(([key, figure]) => [key, { ...figure }]));
    this.#period(period).close = { at, by, note, forced: reasons.length > 0, figures: frozen };
    this.#takeOver();
    this.#event('close', period, { at, actor: by, note }, reasons, frozen);
  }

  /** How many adjustments it takes back. */
  reopen(period: string, by: string, note: string, nowMs: number): number {
    const state = this.#period(period);
    const at = iso(nowMs);
    const sums = new Map<string, Usage>();
    for (const { corrects_period, tenant_id, credits_delta, requests_delta } of this.#adjustments) {
      if (corrects_period !== period) continue;
      const { credits, requests } = sums.get(tenant_id) ?? { credits: 0n, requests: 0n };
      sums.set(tenant_id, { credits: credits + credits_delta, requests: requests + requests_delta });
    }
    const outstanding = [...sums].filter(([, { credits, requests }]) => credits !== 0n || requests !== 0n);
    for (const [tenant_id, { credits, requests }] of outstanding) {
      this.#adjustments.push({
        workspace_id: this.id,
        tenant_id,
        corrects_period: period,
        booked_period: this.#bookingPeriod(period),
        credits_delta: -credits,
        requests_delta: -requests,
        recorded_at: at,
        run_id: null,
        kind: 'reopen',
      });
    }
    this.#event('reopen', period, { at, actor: by, note }, [], state.close?.figures ?? new Map());
    state.close = null;
    this.#takeOver();
    return outstanding.length;
  }

  usage(nowMs: number): Row[] {
    return [...this.#periods.values()].flatMap((state) =>
      this.#shown(state).map((figure) => ({
        workspace_id: this.id,
        tenant_id: figure.tenant,
        period: figure.period,
        period_start: state.start,
        period_end: state.end,
        credits_used: figure.credits,
        request_count: figure.requests,
        state: stateOf(state, nowMs),
        first_seen_at: figure.firstSeenAt,
        changed_at: figure.changedAt,
        withdrawn: figure.withdrawn ? 1n : 0n,
      })),
    );
  }

  totals(nowMs: number): Row[] {
    return [...this.#periods.values()].map((state) => {
      const booked = this.#adjustments.filter(({ booked_period }) => booked_period === state.period);
      return {
        workspace_id: this.id,
        period: state.period,
        ...sumOf(this.#shown(state)),
        state: stateOf(state, nowMs),
        complete: state.askedAt !== null && isLater(state.askedAt, state.end) ? 1n : 0n,
        as_of: state.asOf,
        adjustment_credits: booked.reduce((sum, { credits_delta }) => sum + credits_delta, 0n),
        adjustment_requests: booked.reduce((sum, { requests_delta }) => sum + requests_delta, 0n),
        closed_at: state.close?.at ?? null,
        closed_by: state.close?.by ?? null,
        close_note: state.close?.note ?? null,
        close_forced: state.close === null ? null : state.close.forced ? 1n : 0n,
      };
    });
  }

  /** Without the percentage, which is no integer. */
  changes(): Row[] {
    return [...this.#periods.values()].flatMap((state) => {
      const before = [...this.#periods.values()].find(({ period }) => monthAfter(period) === state.period);
      const previous = before === undefined ? [] : this.#shown(before);
      const rows = withStopped(this.#shown(state), state.asOf === null ? [] : previous, state.period);
      return rows.map((figure) => changeOf(this.id, figure, previous));
    });
  }

  get history(): readonly Row[] {
    return this.#history;
  }

  get adjustments(): readonly Row[] {
    return this.#adjustments;
  }

  /** Closes and reopens in their order. */
  get events(): readonly Row[] {
    return this.#events;
  }

  freshness(): Row[] {
    const latest = this.runs.at(-1);
    if (latest === undefined) return [];
    const covered = [...this.#periods.values()].filter(({ asOf }) => asOf !== null).map(({ period }) => period);
    covered.sort();
    const complete = this.runs.filter(({ status }) => status === 'applied').at(-1);
    return [
      {
        workspace_id: this.id,
        last_complete_run_at: complete?.finishedAt ?? null,
        last_attempt_at: latest.startedAt,
        last_status: latest.status,
        covers_from: covered[0] ?? null,
        covers_to: covered.at(-1) ?? null,
      },
    ];
  }

  runRows(): Row[] {
    return this.runs.map((run) => ({
      run_id: run.runId,
      workspace_id: this.id,
      status: run.status,
      from_period: run.from,
      to_period: run.to,
      started_at: run.startedAt,
      finished_at: run.finishedAt,
      pages: BigInt(run.pages),
      records: BigInt(run.records),
      entries: BigInt(run.entries),
      error_code: run.errorCode,
      kind: 'manual',
      slot: null,
      digested: run.status === 'applied',
    }));
  }

  #shown({ period, close }: PeriodState): Figure[] {
    const figures = close?.figures ?? this.#figures;
    return [...figures.values()].filter((figure) => figure.period === period);
  }

  #name(period: string, { start, end }: Dates): void {
    const known = this.#periods.get(period);
    if (known === undefined) {
      this.#periods.set(period, { period, start, end, asOf: null, askedAt: null, close: null, unsteadyUntil: 0 });
    } else {
      known.start = start;
      known.end = end;
    }
  }

  #kindOf(key: string, { credits, requests }: Usage): string | null {
    const before = this.#figures.get(key);
    if (before === undefined) return 'opened';
    if (before.withdrawn) return 'restored';
    if (before.credits === credits && before.requests === requests) return null;
    const grew = credits === before.credits ? requests > before.requests : credits > before.credits;
    return grew ? 'increased' : 'decreased';
  }

  #change(run: ModelRun, key: string, kind: string, usage: Usage, at: string): Row {
    const before = this.#figures.get(key);
    const period = periodOf(key);
    const tenant = key.slice(period.length + 1);
    this.#figures.set(key, {
      ...usage,
      period,
      tenant,
      withdrawn: kind === 'withdrawn',
      firstSeenAt: before?.firstSeenAt ?? at,
      changedAt: at,
    });
    this.#period(period).unsteadyUntil = this.#applied.length;
    return {
      run_id: run.runId,
      recorded_at: at,
      workspace_id: this.id,
      tenant_id: tenant,
      period,
      kind,
      credits_delta: usage.credits - (before?.credits ?? 0n),
      requests_delta: usage.requests - (before?.requests ?? 0n),
      credits_after: usage.credits,
      requests_after: usage.requests,
    };
  }

  #adjust(runId: string, change: Row, at: string): void {
    const period = String(change.period);
    if (!this.isClosed(period)) return;
    this.#adjustments.push({
      workspace_id: this.id,
      tenant_id: String(change.tenant_id),
      corrects_period: period,
      booked_period: this.#bookingPeriod(period),
      credits_delta: change.credits_delta as bigint,
      requests_delta: change.requests_delta as bigint,
      recorded_at: at,
      run_id: runId,
      kind: 'correction',
    });
  }

  #bookingPeriod(corrected: string): string {
    let month = monthAfter(corrected);
    while (this.periods.includes(month) && this.isClosed(month)) month = monthAfter(month);
    if (!this.periods.includes(month)) {
      const { startMs, endMs } = monthSpan(month);
      this.#name(month, { start: iso(startMs), end: iso(endMs - 1_000) });
    }
    return month;
  }

  #event(action: string, period: string, by: Row, reasons: Reason[], figures: Map<string, Figure>): void {
    this.#events.push({
      workspace_id: this.id,
      period,
      action,
      ...by,
      forced: reasons.length > 0 ? 1n : 0n,
      overridden: reasons,
      ...sumOf([...figures.values()]),
    });
  }

  /** A close or reopen takes the lease for a moment: whoever held it may not publish any more. */
  #takeOver(): void {
    this.#token += 1;
    this.#heldUntilMs = 0;
  }

  #release(token: number): void {
    if (token === this.#token) this.#heldUntilMs = 0;
  }

  #period(period: string): PeriodState {
    const state = this.#periods.get(period);
    if (state === undefined) throw new Error(`the model does not know ${period}`);
    return state;
  }
}
