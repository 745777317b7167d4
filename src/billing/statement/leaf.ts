import type { BilledLine, BilledTenant } from './billed.ts';

/** The proven run that a period's figures stand on. */
export interface Certificate {
  runId: string;
  finishedAt: string;
  records: number;
  digest: string;
}

export interface PeriodLeaf {
  workspaceId: string;
  period: string;
  /** Null: no run has covered the period. */
  certificate: Certificate | null;
}

const PERIOD_TAG = 'usage_ledger.period.v1';
const TENANT_TAG = 'usage_ledger.tenant.v1';

/** The content of a period's leaf, behind its tag and salt. Compact JSON; all numbers are text, so that no reader rounds them. */
export function encodePeriod({ workspaceId, period, certificate }: PeriodLeaf, salt: string): string {
  const run =
    certificate === null
      ? null
      : [certificate.runId, certificate.finishedAt, String(certificate.records), certificate.digest];
  return JSON.stringify([PERIOD_TAG, salt, workspaceId, period, run]);
}

/**
 * The content of a tenant's leaf: `[tag, salt, tenant, name, reference, credits, requests, lines]`, each line an array, and behind
 * them the number of the statement where it has one.
 */
export function encodeTenant(tenant: BilledTenant, salt: string): string {
  return JSON.stringify([
    TENANT_TAG,
    salt,
    tenant.tenantId,
    tenant.displayName,
    tenant.externalRef,
    tenant.creditsUsed.toString(),
    tenant.requestCount.toString(),
    tenant.lines.map((line) => [
      line.kind,
      text(line.tier),
      text(line.credits),
      text(line.unitCredits),
      line.unitPrice,
      text(line.amountMinor),
      line.currency,
      line.rateCard,
      line.correctsPeriod,
      text(line.entryId),
      line.reason,
      text(line.requests),
    ]),
    ...(tenant.statementNumber === undefined ? [] : [tenant.statementNumber]),
  ]);
}

/** Reads what `encodePeriod` has written; null for anything else. */
export function decodePeriod(content: string): PeriodLeaf | null {
  const [, salt, workspaceId, period, run] = parseArray(content);
  const [runId, finishedAt, records, digest] = (run ?? []) as string[];
  const certificate =
    run === null
      ? null
      : { runId: String(runId), finishedAt: String(finishedAt), records: Number(records), digest: String(digest) };
  const leaf = { workspaceId: String(workspaceId), period: String(period), certificate };
  return encodePeriod(leaf, String(salt)) === content ? leaf : null;
}

/** Reads what `encodeTenant` has written; null for anything else. */
export function decodeTenant(content: string): BilledTenant | null {
  const [, salt, tenantId, displayName, externalRef, credits, requests, lines, number] = parseArray(content);
  if (!Array.isArray(lines)) return null;
  try {
    const tenant: BilledTenant = {
      tenantId: String(tenantId),
      displayName: displayName === null ? null : String(displayName),
      externalRef: externalRef === null ? null : String(externalRef),
      creditsUsed: BigInt(String(credits)),
      requestCount: BigInt(String(requests)),
      lines: lines.map((line) => decodeLine(line as (string | null)[])),
      ...(number === undefined ? {} : { statementNumber: String(number) }),
    };
    return encodeTenant(tenant, String(salt)) === content ? tenant : null;
  } catch {
    // A number that is none: no leaf of ours.
    return null;
  }
}

function decodeLine(values: readonly (string | null)[]): BilledLine {
  const [
    kind,
    tier,
    credits,
    unitCredits,
    unitPrice,
    amount,
    currency,
    rateCard,
    correctsPeriod,
    entryId,
    reason,
    requests,
  ] = values;
  return {
    kind: kind as BilledLine['kind'],
    tier: tier == null ? null : Number(tier),
    credits: integer(credits),
    unitCredits: integer(unitCredits),
    unitPrice: unitPrice ?? null,
    amountMinor: integer(amount),
    currency: currency ?? null,
    rateCard: rateCard ?? null,
    correctsPeriod: correctsPeriod ?? null,
    entryId: integer(entryId),
    reason: reason ?? null,
    requests: integer(requests),
  };
}

function text(value: number | bigint | null): string | null {
  return value === null ? null : value.toString();
}

function integer(value: string | null | undefined): bigint | null {
  return value == null ? null : BigInt(value);
}

function parseArray(content: string): unknown[] {
  try {
    const value: unknown = JSON.parse(content);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
