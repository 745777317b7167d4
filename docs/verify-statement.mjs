#!/usr/bin/env node
// Checks the statement of a closed period: node verify-statement.mjs STATEMENT.json DIGEST
// DIGEST is that of the close, as it was kept when the period was closed. Needs Node 22 and nothing else.
// Ends with 0 and "authentic", or with 1 and the reason why not.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const DECIMALS = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const TENANT_FORMAT = 'usage-ledger/tenant-statement/1';

const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
const demand = (holds, reason) => {
  if (!holds) throw new Error(reason);
};
/** Integers as bigint, so that none is rounded. */
const read = (text) => JSON.parse(text, (_, value, { source }) => (typeof value === 'number' ? BigInt(source) : value));
const compact = (text) => text.replace(/("(?:[^"\\]|\\.)*")|[ \t\n\r]+/g, '$1');
const escaped = (found) =>
  [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
const write = (value) =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? JSON.rawJSON(String(inner)) : inner)).replace(
    /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu,
    escaped,
  );

/** Whether it does: a bit of the index is 1 where the leaf's side is the right one. Of old closes: RFC 9162, 2.1.3.2. */
function leadsToRoot({ index, leaf, path }, size, root) {
  let [node, found] = [index, sha256(Buffer.of(0), Buffer.from(leaf))];
  if (typeof node !== 'bigint' || node < 0n || (size !== null && node >= size)) return false;
  if (!path.every((hash) => /^[0-9a-f]{64}$/.test(hash))) return false;
  const siblings = path.map((hex) => Buffer.from(hex, 'hex'));
  if (size === null) {
    for (const sibling of siblings) {
      found = node % 2n === 1n ? sha256(Buffer.of(1), sibling, found) : sha256(Buffer.of(1), found, sibling);
      node /= 2n;
    }
    return node === 0n && found.toString('hex') === root;
  }
  let last = size - 1n;
  for (const sibling of siblings) {
    if (last === 0n) return false;
    if (node % 2n === 1n || node === last) {
      found = sha256(Buffer.of(1), sibling, found);
      for (; node % 2n === 0n && node > 0n; node /= 2n) last /= 2n;
    } else {
      found = sha256(Buffer.of(1), found, sibling);
    }
    [node, last] = [node / 2n, last / 2n];
  }
  return last === 0n && found.toString('hex') === root;
}

function money(minor, currency) {
  const digits = Number(Object.keys(DECIMALS).find((count) => DECIMALS[count].split(' ').includes(currency)) ?? 2);
  const text = String(minor < 0n ? -minor : minor).padStart(digits + 1, '0');
  return `${minor < 0n ? '-' : ''}${digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`}`;
}

function lineOf([kind, tier, credits, unit_credits, unit_price, minor, currency, rate_card, corrects_period, entry]) {
  const number = (text) => (text === null ? null : BigInt(text));
  const amount = { amount_minor: number(minor), amount: minor === null ? null : money(BigInt(minor), currency) };
  const sold = { kind, tier: number(tier), credits: number(credits), unit_credits: number(unit_credits), unit_price };
  return { ...sold, ...amount, currency, rate_card, corrects_period, entry_id: number(entry) };
}

function totalsOf(lines) {
  const sums = new Map();
  for (const { currency, amount_minor } of lines) {
    if (amount_minor !== null) sums.set(currency, (sums.get(currency) ?? 0n) + amount_minor);
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, sum]) => ({ currency, amount_minor: sum, amount: money(sum, currency) }));
}

/** What a leaf says behind its tag, and behind its salt if it has one. */
function told(leaf, kind, count) {
  const [tag, ...rest] = JSON.parse(leaf);
  demand([`usage-ledger/${kind}/1`, `usage-ledger/${kind}/2`].includes(tag), `a leaf is of no ${kind}`);
  const values = rest.slice(Number(tag.at(-1)) - 1);
  demand(values.length === count, 'a leaf says more or less than it can');
  return values;
}

function tenantOf({ index, leaf, path }) {
  const [tenant_id, display_name, external_ref, credits, requests, own] = told(leaf, 'tenant', 6);
  const lines = own.map(lineOf);
  return {
    ...{ tenant_id, display_name, external_ref, credits_used: BigInt(credits), request_count: BigInt(requests) },
    ...{ projected_credits: null, totals: totalsOf(lines), lines, proof: { index, leaf, path } },
  };
}

/** What the statement must say, from its proof alone. */
function statementOf({ proof, tenants: given }, digest) {
  demand(
    sha256(Buffer.from(`${proof.close}\n`)).toString('hex') === digest,
    'its close has another digest than was kept',
  );
  const close = read(proof.close);
  const root = close.at(-1);
  const { internal, nonce } = proof;
  if (internal !== undefined) {
    const hash = sha256(Buffer.from(nonce, 'hex'), Buffer.from(internal)).toString('hex');
    demand(close.at(-2) === hash, 'the close has another internal part');
  }
  const leafCount = internal === undefined ? close.at(-2) : read(internal).at(-1);
  const size = internal === undefined ? leafCount : null;
  demand(typeof leafCount === 'bigint', 'it does not say how many leaves there are');
  const [workspace_id, period, run] = told(proof.period.leaf, 'period', 3);
  demand(close[2] === 'close', 'it stands on no close');
  demand(workspace_id === close[3] && period === close[4], 'the close is of another period or workspace');
  const leaves = [proof.period, ...given.map((tenant) => tenant.proof)];
  demand(new Set(leaves.map(({ index }) => index)).size === leaves.length, 'it lists a tenant twice');
  demand(
    leaves.every((leaf) => leadsToRoot(leaf, size, root)),
    'a leaf does not lead to the root of the close',
  );
  const tenants = leaves.slice(1).map(tenantOf);
  const { index, leaf, path } = proof.period;
  return {
    format: `usage-ledger/statement/${internal === undefined ? 1 : 2}`,
    ...{ workspace_id, period, state: 'closed', estimate: false, as_of: close[5] },
    certificate: run && { run_id: run[0], finished_at: run[1], records: BigInt(run[2]), digest: run[3] },
    ...{ head_digest: digest, tenants_in_period: leafCount - 1n },
    credits_used: tenants.reduce((sum, { credits_used }) => sum + credits_used, 0n),
    totals: totalsOf(tenants.flatMap(({ lines }) => lines)),
    tenants,
    proof: {
      ...{ close: proof.close, internal, nonce, close_digest: digest, root },
      ...{ leaves: leafCount, period: { index, leaf, path } },
    },
  };
}

/** The same of what was made for its tenant, with the public part of the close's line alone. */
function tenantStatementOf({ proof }, digest) {
  demand(
    sha256(Buffer.from(`${proof.close}\n`)).toString('hex') === digest,
    'its close has another digest than was kept',
  );
  const close = read(proof.close);
  demand(close.length === 8 && close[2] === 'close', 'it stands on no close that a tenant is shown');
  const [, , , workspace_id, period, as_of, , root] = close;
  demand(leadsToRoot(proof.tenant, null, root), 'its leaf does not lead to the root of the close');
  const { proof: leaf, ...own } = tenantOf(proof.tenant);
  return {
    format: TENANT_FORMAT,
    ...{ workspace_id, period, state: 'closed', estimate: false, as_of },
    ...own,
    proof: { close: proof.close, close_digest: digest, root, tenant: leaf },
  };
}

const [file, digest = ''] = process.argv.slice(2);
try {
  const text = readFileSync(file, 'utf8');
  const given = read(text);
  const make = given.format === TENANT_FORMAT ? tenantStatementOf : statementOf;
  const expected = write(make(given, digest.toLowerCase()));
  demand(compact(text) === expected, 'it says something else than the proof does');
  console.log('authentic');
} catch (error) {
  console.error(`not authentic: ${error.message}`);
  process.exitCode = 1;
}
