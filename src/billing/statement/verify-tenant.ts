import { createHash } from 'node:crypto';
import { compactJson, escapeRisky, stringifyExact } from '../../core/text/exact-json.ts';
import { leafHash } from '../proof/merkle.ts';
import { rootFromPath } from '../proof/salted-tree.ts';
import { statementDocument } from './document.ts';
import { decodeTenant } from './leaf.ts';
import { type TenantDocument, tenantDocument } from './tenant-document.ts';
import { refuse, type StatementVerdict } from './verdict.ts';

/** A close's public line has so many elements; one from before closes were salted has more. */
const LINE_ELEMENTS = 8;

/** The same for what was handed to a tenant: its leaf leads to the root that stands in the public part of the close's line. */
export function checkTenant(given: TenantDocument, text: string): StatementVerdict {
  const { proof } = given;
  if (proof === null) return refuse('it carries no proof');
  const close = JSON.parse(proof.close) as unknown[];
  const [, , action, workspaceId, period, at, , root] = close.map(String);
  const digest = createHash('sha256').update(`${proof.close}\n`).digest('hex');
  if (digest !== proof.close_digest) return refuse('the line of the close does not have the digest that is named');
  if (action !== 'close' || close.length !== LINE_ELEMENTS)
    return refuse('it stands on no close that a tenant is shown');
  if (root !== proof.root) return refuse('the close has committed to another root');
  const { leaf, ...way } = proof.tenant;
  const [index, path] = [Number(way.index), way.path.map((hash) => Buffer.from(hash, 'hex'))];
  const tenant = decodeTenant(leaf);
  if (tenant === null || rootFromPath(leafHash(leaf), { index, path })?.toString('hex') !== root) {
    return refuse('what it says of the tenant does not lead to the root');
  }
  const own = { index, leaf, path: path.map((hash) => hash.toString('hex')) };
  const rebuilt = tenantDocument(
    statementDocument({
      header: { workspaceId: String(workspaceId), period: String(period), certificate: null },
      ...{ state: 'closed', asOf: String(at), headDigest: digest, tenantsInPeriod: 1 },
      tenants: [{ tenant, proof: own, projection: null }],
      proof: {
        ...{ closeLine: proof.close, closeDigest: digest, root, leaves: 2, period: own },
        internal: { line: '', nonce: '' },
      },
    }),
  );
  if (compactJson(text) !== escapeRisky(stringifyExact(rebuilt))) {
    return refuse('it says more than, or something else than, what the proof is of');
  }
  return {
    ...{ agrees: true, workspaceId: String(workspaceId), period: String(period), closedAt: String(at) },
    ...{ closeDigest: digest, tenants: 1, tenantsInPeriod: null },
  };
}
