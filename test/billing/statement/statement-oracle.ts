import { createHash } from 'node:crypto';

/**
 * A second check of statements, written from "Statements that prove themselves" of docs/ledger.md: it builds the whole document from
 * the proof, and compares. It shares no code with the program.
 */
export function oracleSays(text: string, digest: string): boolean {
  try {
    return (
      inAscii(text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')) === inAscii(write(documentOf(JSON.parse(text), digest)))
    );
  } catch {
    return false;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: it reads what anybody may have written.
type Any = any;

const DECIMALS: Readonly<Record<string, number>> = { EUR: 2, JPY: 0, KWD: 3, CLF: 4 };

function demand(holds: unknown): void {
  if (!holds) throw new Error('not so');
}

function sha256(...parts: (Buffer | string)[]): Buffer {
  return createHash('sha256')
    .update(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
    .digest();
}

function documentOf(given: Any, digest: string): Any {
  const { close, root, internal } = given.proof;
  demand(sha256(`${close}\n`).toString('hex') === digest);
  const line = JSON.parse(close);
  const [, , action, workspace, period, at, internalHash, committed] = line;
  demand(line.length === 8 && action === 'close' && committed === root);
  if (internal !== null) {
    demand(/^(?:[0-9a-f]{2})+$/.test(internal.nonce));
    demand(sha256(Buffer.from(internal.nonce, 'hex'), internal.line).toString('hex') === internalHash);
    demand(JSON.parse(internal.line).pop() === internal.leaves);
    demand(rootOf(internal.period) === root);
  }
  const [tag, , leafWorkspace, leafPeriod, run] = internal === null ? [] : JSON.parse(internal.period.leaf);
  demand(internal === null || tag === 'usage_ledger.period.v1');
  demand(internal === null || (leafWorkspace === workspace && leafPeriod === period));
  demand(new Set(given.tenants.map((tenant: Any) => tenant.proof.index)).size === given.tenants.length);
  const tenants = given.tenants.map((tenant: Any) => {
    demand(rootOf(tenant.proof) === root);
    return tenantOf(tenant.proof);
  });
  return {
    format: 'usage_ledger.statement.v1',
    workspace_id: workspace,
    period,
    state: 'closed',
    estimate: false,
    as_of: at,
    certificate: run ? { run_id: run[0], finished_at: run[1], records: BigInt(run[2]), digest: run[3] } : null,
    head_digest: digest,
    tenants_in_period: internal === null ? null : internal.leaves - 1,
    credits_used: tenants.reduce((sum: bigint, tenant: Any) => sum + tenant.credits_used, 0n),
    totals: totalsOf(tenants.flatMap((tenant: Any) => tenant.lines)),
    tenants,
    proof: { close, close_digest: digest, root, internal: internal && inOrder(internal) },
  };
}

function inOrder({ line, nonce, leaves, period }: Any): Any {
  return { line, nonce, leaves, period: { index: period.index, leaf: period.leaf, path: period.path } };
}

/** Hashes a leaf up to the root. A bit of the index, lowest first, is 1 where the leaf's side is the right one. */
function rootOf({ index, leaf, path }: Any): string {
  demand(Number.isInteger(index) && index >= 0 && index < 2 ** path.length);
  let found = sha256(Buffer.of(0), leaf);
  for (const [height, hash] of path.entries()) {
    demand(/^[0-9a-f]{64}$/.test(hash));
    const beside = Buffer.from(hash, 'hex');
    const isRight = (BigInt(index) >> BigInt(height)) & 1n;
    found = isRight ? sha256(Buffer.of(1), beside, found) : sha256(Buffer.of(1), found, beside);
  }
  return found.toString('hex');
}

function tenantOf({ index, leaf, path }: Any): Any {
  const parts = JSON.parse(leaf);
  const [tag, , tenant_id, display_name, external_ref, credits, requests, own] = parts;
  demand(tag === 'usage_ledger.tenant.v1' && parts.length === 8);
  const lines = own.map(lineOf);
  return {
    tenant_id,
    display_name,
    external_ref,
    credits_used: BigInt(credits),
    request_count: BigInt(requests),
    projected_credits: null,
    totals: totalsOf(lines),
    lines,
    proof: { index, leaf, path },
  };
}

function lineOf(parts: Any): Any {
  const [
    kind,
    tier,
    credits,
    unitCredits,
    unit_price,
    minor,
    currency,
    rate_card,
    corrects_period,
    entry,
    reason,
    requests,
  ] = parts;
  demand(parts.length === 12);
  const integer = (text: string | null): bigint | null => (text === null ? null : BigInt(text));
  return {
    kind,
    tier: integer(tier),
    credits: integer(credits),
    unit_credits: integer(unitCredits),
    unit_price,
    amount_minor: integer(minor),
    amount: minor === null ? null : money(BigInt(minor), currency),
    currency,
    rate_card,
    corrects_period,
    entry_id: integer(entry),
    reason,
    requests: integer(requests),
  };
}

function totalsOf(lines: Any[]): Any[] {
  const currencies = [...new Set(lines.filter((line) => line.amount_minor !== null).map((line) => line.currency))];
  return currencies.sort().map((currency) => {
    const own = lines.filter((line) => line.currency === currency && line.amount_minor !== null);
    const sum = own.reduce((all, line) => all + line.amount_minor, 0n);
    return { currency, amount_minor: sum, amount: money(sum, currency) };
  });
}

function money(minor: bigint, currency: string): string {
  const digits = DECIMALS[currency];
  if (digits === undefined) throw new Error('an unknown currency');
  const unit = 10n ** BigInt(digits);
  const size = minor < 0n ? -minor : minor;
  const cents = digits === 0 ? '' : `.${String(size % unit).padStart(digits, '0')}`;
  return `${minor < 0n ? '-' : ''}${size / unit}${cents}`;
}

function write(value: Any): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `#${inner}#` : inner)).replace(
    /"#(-?\d+)#"/g,
    '$1',
  );
}

function inAscii(text: string): string {
  return [...text]
    .flatMap((sign) => sign.split(''))
    .map((unit) => (unit < '\u007f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))
    .join('');
}
