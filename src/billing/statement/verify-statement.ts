import { createHash } from 'node:crypto';
import { compactJson, escapeRisky, parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import { leafHash, rootFromProof } from '../proof/merkle.ts';
import { rootFromPath } from '../proof/salted-tree.ts';
import { type LeafProof, STATEMENT_FORMATS, type StatementDocument, statementDocument } from './document.ts';
import { decodePeriod, decodeTenant } from './leaf.ts';
import { TENANT_FORMAT, type TenantDocument } from './tenant-document.ts';
import { refuse, type StatementVerdict } from './verdict.ts';
import { checkTenant } from './verify-tenant.ts';

/**
 * Checks the text of a statement with nothing but itself: every leaf leads to the root, the root stands in the line of the
 * close, that line has the digest which is named, and the text is what follows from them, but for the space between
 * tokens. Whoever makes all of it up passes, too.
 */
export function verifyStatement(text: string): StatementVerdict {
  let given: { format?: string; state?: string } | null;
  try {
    given = parseExact(text) as typeof given;
  } catch {
    return refuse('it is no JSON');
  }
  const format = typeof given === 'object' ? given?.format : undefined;
  const check =
    format === TENANT_FORMAT ? checkTenant : STATEMENT_FORMATS.some((one) => one === format) ? checkAll : null;
  if (given === null || check === null) return refuse('it is not a statement of this form');
  if (given.state !== 'closed') return refuse(`its period is ${String(given.state)}: only a closed one can be proven`);
  try {
    return check(given as StatementDocument & TenantDocument, text);
  } catch {
    return refuse('parts of it are missing or of another kind');
  }
}

function checkAll(given: StatementDocument, text: string): StatementVerdict {
  const { proof } = given;
  if (proof === null) return refuse('it carries no proof');
  const leaves = Number(proof.leaves);
  const close = JSON.parse(proof.close) as unknown[];
  const internal = internalOf(proof);
  const [workspaceId, period, at] = [close[3], close[4], close[5]];
  const digest = createHash('sha256').update(`${proof.close}\n`).digest('hex');
  if (digest !== proof.close_digest) return refuse('the line of the close does not have the digest that is named');
  if (close[2] !== 'close') return refuse('it stands on a reopen, not on a close');
  if (close.at(-1) !== proof.root) return refuse('the close has committed to another root');
  if (internal !== null && close.at(-2) !== internal.hash) return refuse('the close has another internal part');
  if ((internal === null ? close.at(-2) : internal.leaves) !== leaves) {
    return refuse('the close has committed to another number of leaves');
  }
  const leadsToRoot = (own: LeafProof): boolean => {
    const path = own.path.map((hash) => Buffer.from(hash, 'hex'));
    const [leaf, index] = [leafHash(own.leaf), Number(own.index)];
    const root =
      internal === null ? rootFromProof(leaf, { index, size: leaves }, path) : rootFromPath(leaf, { index, path });
    return root?.toString('hex') === proof.root;
  };
  const header = decodePeriod(proof.period.leaf);
  if (header === null || !leadsToRoot(proof.period)) {
    return refuse('what it says of the period does not lead to the root');
  }
  if (header.workspaceId !== workspaceId || header.period !== period) {
    return refuse('the close is of another period or workspace');
  }
  const tenants = [];
  for (const { tenant_id, proof: own } of given.tenants) {
    const tenant = own === null ? null : decodeTenant(own.leaf);
    if (own === null || tenant === null || !leadsToRoot(own)) {
      return refuse(`what it says of tenant ${JSON.stringify(tenant_id)} does not lead to the root`);
    }
    tenants.push({ tenant, proof: plain(own), projection: null });
  }
  if (new Set(tenants.map(({ proof: own }) => Number(own.index))).size < tenants.length) {
    return refuse('it lists a tenant twice');
  }
  const rebuilt = statementDocument({
    header,
    state: 'closed',
    asOf: String(at),
    headDigest: digest,
    tenantsInPeriod: leaves - 1,
    tenants,
    proof: {
      closeLine: proof.close,
      internal,
      closeDigest: digest,
      root: proof.root,
      leaves,
      period: plain(proof.period),
    },
  });
  if (compactJson(text) !== escapeRisky(stringifyExact(rebuilt))) {
    return refuse('it says more than, or something else than, what the proof is of');
  }
  return {
    agrees: true,
    workspaceId: header.workspaceId,
    period: header.period,
    closedAt: String(at),
    closeDigest: digest,
    tenants: tenants.length,
    tenantsInPeriod: leaves - 1,
  };
}

type Proof = NonNullable<StatementDocument['proof']>;

/** The internal part of the close's line, with what the line must have of it; null in closes from before they were salted. */
function internalOf({ internal: line, nonce: given }: Proof) {
  if (line === undefined || given === undefined) return null;
  const nonce = Buffer.from(given, 'hex');
  const hash = createHash('sha256').update(nonce).update(line).digest('hex');
  return { line, nonce: nonce.toString('hex'), hash, leaves: (JSON.parse(line) as unknown[]).at(-1) };
}

/** The proof as the program writes it: whatever is spelled otherwise in the text is not what the text should say. */
function plain({ index, leaf, path }: LeafProof): LeafProof {
  return { index: Number(index), leaf, path: path.map((hash) => Buffer.from(hash, 'hex').toString('hex')) };
}
