import type { BilledLine, BilledTenant } from './billed.ts';

/** The verified run that read a period's figures. */
export interface Certificate {
  runId: string;
  finishedAt: string;
  records: number;
  digest: string;
}

export interface PeriodLeaf {
  workspaceId: string;
  period: string;
  /** The run that read the figures; null if no run has covered the period. */
  certificate: Certificate | null;
}

const PERIOD_TAG = 'usage_ledger.period.v1';
const TENANT_TAG = 'usage_ledger.tenant.v1';

/**
 * Encodes the content of a period's leaf: a compact JSON array that begins with a tag and the salt. Numbers are written
 * as text, so that no JSON reader rounds them.
 */
export function encodePeriod({ workspaceId, period, certificate }: PeriodLeaf, salt: string): string {
  const run =
    certificate === null
      ? null
      : [certificate.runId, certificate.finishedAt, String(certificate.records), certificate.digest];
  return JSON.stringify([PERIOD_TAG, salt, workspaceId, period, run]);
}

/**
 * Encodes the content of a tenant's leaf: `[tag, salt, tenant, name, reference, credits, requests, lines]`. Each of the
 * lines is an array. If there is a statement number, it comes after the lines.
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
      integerText(line.tier),
      integerText(line.credits),
      integerText(line.unitCredits),
      line.unitPrice,
      integerText(line.amountMinor),
      line.currency,
      line.rateCard,
      line.correctsPeriod,
      integerText(line.entryId),
      line.reason,
      integerText(line.requests),
    ]),
    ...(tenant.statementNumber === undefined ? [] : [tenant.statementNumber]),
  ]);
}

/** Decodes a text that `encodePeriod` wrote. Returns null for any other text. */
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

/** Decodes a text that `encodeTenant` wrote. Returns null for any other text. */
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
    // BigInt throws if a text is not a number. Then the content is not a valid leaf.
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
    credits: parseBigint(credits),
    unitCredits: parseBigint(unitCredits),
    unitPrice: unitPrice ?? null,
    amountMinor: parseBigint(amount),
    currency: currency ?? null,
    rateCard: rateCard ?? null,
    correctsPeriod: correctsPeriod ?? null,
    entryId: parseBigint(entryId),
    reason: reason ?? null,
    requests: parseBigint(requests),
  };
}

function integerText(value: number | bigint | null): string | null {
  return value === null ? null : value.toString();
}

function parseBigint(value: string | null | undefined): bigint | null {
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
