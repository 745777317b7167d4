import { type Given, PLAIN_LIES } from '../world/network.ts';
import { monthOf, type SimulatedService } from '../world/service.ts';
import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

/** A run that has just been published, with the world's own times of its beginning and end. */
export interface AppliedRun {
  runId: string;
  workspaceId: string;
  kind: string;
  from: string | null;
  to: string | null;
  beganMs: number;
  endedMs: number;
}

interface Standing {
  tenant_id: string;
  period: string;
  credits_used: bigint;
  request_count: bigint;
  withdrawn: bigint;
}

const STANDING = `SELECT t.tenant_id, p.period, u.credits_used, u.request_count, u.withdrawn
  FROM tenant_usage u JOIN periods p ON p.period_key = u.period_key JOIN tenants t ON t.tenant_key = u.tenant_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key WHERE w.workspace_id = ?`;

/** Every figure of an applied run is one that the service said between the run's beginning and its end. */
export class PublishedFiguresOracle {
  readonly #before = new Map<string, Map<string, Standing>>();
  /** Live keys that the last run of their workspace has missed, if it was honest. */
  readonly #missed = new Map<string, Set<string>>();

  /** `isFair`: since before the run began nothing was in the way of asking the service. */
  check(
    ledger: LedgerView,
    service: SimulatedService,
    run: AppliedRun,
    { given, isFair }: { given: readonly Given[]; isFair: boolean },
  ): void {
    const before = this.#before.get(run.workspaceId) ?? new Map<string, Standing>();
    const now = new Map(
      ledger.all<Standing>(STANDING, run.workspaceId).map((row) => [keyOf(row.tenant_id, row.period), row]),
    );
    this.#before.set(run.workspaceId, now);
    const heard = given.filter(
      ({ workspaceId, atMs }) => workspaceId === run.workspaceId && atMs >= run.beganMs && atMs <= run.endedMs,
    );
    if (
      heard.length > 0 &&
      heard.every(({ fault, rows }) => fault !== null && rows.length > 0 && PLAIN_LIES.includes(fault))
    ) {
      throw new PromiseBroken(
        'what is not proven is not published',
        `${run.runId} heard nothing but ${heard[0]?.fault}`,
      );
    }
    const saidNothing = heard.length > 0 && heard.every(({ rows }) => rows.length === 0);
    if (saidNothing && [...before.values()].some((row) => row.withdrawn === 0n && row.period >= (run.from ?? ''))) {
      throw new PromiseBroken('nothing is not believed where something was', run.runId);
    }
    const honest = heard.every((answer) => answer.honest);
    const moments = service.momentsBetween(run.beganMs, run.endedMs);
    const from = run.from ?? '0000-00';
    const to = run.to ?? '9999-99';
    for (const [key, row] of now) {
      const old = before.get(key);
      if (old !== undefined && sameStanding(old, row)) continue;
      if (row.period < from || row.period > to) throw broken('a run changes its own periods only', run, row);
      if (row.withdrawn === 0n && !heard.some(({ rows }) => rows.some((said) => saidSo(said, row)))) {
        throw broken('each figure is one that the service said', run, row);
      }
      const history = heard.findLast(({ tenantId }) => tenantId === row.tenant_id);
      if (row.withdrawn === 1n && (history === undefined || history.rows.some(({ period }) => period === row.period)))
        throw broken('what the own history of a tenant has is not withdrawn', run, row);
    }
    for (const key of before.keys())
      if (!now.has(key)) throw new PromiseBroken('absence is not deletion', `${run.runId}: ${key} is gone`);
    const missedBefore = this.#missed.get(run.workspaceId) ?? new Set();
    const missed = new Set<string>();
    this.#missed.set(run.workspaceId, missed);
    if (!honest) return;
    for (const tenant of service.tenants) {
      for (let month = monthOf(tenant.sinceMs); month <= monthOf(run.endedMs); month = after(month)) {
        // A reconciliation reads all that there is.
        if ((month < from && run.kind !== 'reconcile') || month > to) continue;
        const said = moments.map((atMs) => service.rowAt(atMs, tenant, month));
        const key = keyOf(tenant.id, month);
        const row = now.get(key);
        if (row?.withdrawn === 0n && said.every((one) => one === null)) {
          missed.add(key);
          // The history of a tenant by this name has no address of its own.
          const canBeAsked = tenant.id !== '.' && tenant.id !== '..';
          if (isFair && canBeAsked && missedBefore.has(key))
            throw broken('what two runs in a row lack is withdrawn', run, row);
        }
        if (said.every((one) => one !== null) && (row === undefined || row.withdrawn === 1n)) {
          throw new PromiseBroken(
            'what the service says is in the ledger',
            `${run.runId}: ${tenant.id} in ${month} is missing`,
          );
        }
        if (
          row !== undefined &&
          said.every((one) => one !== null) &&
          !said.some((one) => one !== null && saidSo(one, row))
        ) {
          throw broken('each figure is of the time of its run', run, row);
        }
      }
    }
  }
}

function saidSo(said: { tenantId: string; period: string; credits: bigint; requests: bigint }, row: Standing): boolean {
  return (
    said.tenantId === row.tenant_id &&
    said.period === row.period &&
    said.credits === row.credits_used &&
    said.requests === row.request_count
  );
}

function sameStanding(a: Standing, b: Standing): boolean {
  return a.credits_used === b.credits_used && a.request_count === b.request_count && a.withdrawn === b.withdrawn;
}

function broken(promise: string, run: AppliedRun, row: Standing): PromiseBroken {
  const { tenant_id, period, credits_used, request_count, withdrawn } = row;
  return new PromiseBroken(
    promise,
    `${run.runId} of ${run.workspaceId}: ${tenant_id} in ${period} has ${credits_used} credits, ${request_count} requests, withdrawn ${withdrawn}`,
  );
}

function keyOf(tenantId: string, period: string): string {
  return `${period} ${tenantId}`;
}

function after(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number, 1));
}
