import {
  type LeafProof,
  type Letterhead,
  STATEMENT_FORMAT,
  type StatementDocument,
  statementDocument,
} from '../billing/statement/document.ts';
import { decodePeriod, decodeTenant, type PeriodLeaf } from '../billing/statement/leaf.ts';
import { fromHex, isProofPath, nodesToRoot, type Sha256, toHex, toUtf8 } from './hashes.ts';

/** One step in the verification of a statement. */
export interface VerifyStep {
  check: string;
  passed: boolean;
  /** The compared or computed values, with which a reader can repeat the step by hand. May be empty. */
  detail: string;
}

/** The result of checking that the parts of a statement agree with each other. */
export type StatementVerdict =
  | {
      isConsistent: true;
      /** The digest of the close. The statement is authentic only if a digest from another source equals it. */
      closeDigest: string;
      /** The statement, rebuilt from the data in its proof alone. */
      statement: StatementDocument;
      steps: VerifyStep[];
    }
  | { isConsistent: false; reason: string; steps: VerifyStep[] };

class StatementError extends Error {}

/**
 * Checks that the parts of a statement agree with each other. The hashes of every leaf and its path must give the root.
 * The record of the close must contain the root, and its hash must be the close digest in the document. The text must
 * equal the document rebuilt from the proof, apart from spaces between tokens. A complete forgery passes too, so compare
 * `closeDigest` with a digest from another source.
 */
export async function verifyStatement(text: string, sha256: Sha256): Promise<StatementVerdict> {
  const check = new StatementCheck(sha256);
  try {
    const statement = await check.run(text);
    return { isConsistent: true, closeDigest: String(statement.head_digest), statement, steps: check.steps };
  } catch (error) {
    const reason = error instanceof StatementError ? error.message : 'parts of it are missing or have the wrong type';
    return { isConsistent: false, reason, steps: check.steps };
  }
}

type Proof = NonNullable<StatementDocument['proof']>;

class StatementCheck {
  readonly steps: VerifyStep[] = [];
  readonly #sha256: Sha256;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  async run(text: string): Promise<StatementDocument> {
    const given = parseStatement(text);
    if (given?.format !== STATEMENT_FORMAT) throw new StatementError(`it is not a ${STATEMENT_FORMAT} document`);
    if (given.state !== 'closed') {
      throw new StatementError(
        `its period is ${String(given.state)}: only the statement of a closed period can be verified`,
      );
    }
    if (given.proof === null) throw new StatementError('it has no proof');
    const { close, close_digest, root, internal } = given.proof;
    const digest = toHex(await this.#sha256(toUtf8(`${close}\n`)));
    this.#assert(
      digest === close_digest,
      'the hash of the close line is the close digest in the statement',
      `${close}\n${digest}`,
    );
    const line = JSON.parse(close) as unknown[];
    const [, , action, workspaceId, period, closedAt, internalHash, committed, letterheadHash] = line.map(String);
    this.#assert(
      action === 'close' && (line.length === 8 || line.length === 9),
      'the line records a close',
      `${workspaceId}, ${period}`,
    );
    this.#assert(committed === root, 'the close line contains the root of the statement', root);
    const place = { workspaceId: String(workspaceId), period: String(period) };
    const header =
      internal === null
        ? { ...place, certificate: null }
        : await this.#readInternal(internal, { root, hash: String(internalHash), ...place });
    const tenants = [];
    for (const { proof } of given.tenants) {
      const tenant = proof === null ? null : decodeTenant(proof.leaf);
      if (proof === null || tenant === null) throw new StatementError("a tenant's part is not a leaf of a close");
      if (!(await this.#leadsToRoot(proof, root))) {
        this.#assert(false, `the leaf of tenant ${JSON.stringify(tenant.tenantId)} leads to the root`);
      }
      tenants.push({ tenant, proof: normalizeProof(proof), projection: null });
    }
    const [only, ...others] = given.tenants;
    const detail = only?.proof == null || others.length > 0 ? '' : await this.#describePath(only.proof);
    this.#assert(true, 'the leaf of each tenant leads to the root', detail);
    const letterhead = letterheadHash === undefined ? null : await this.#readLetterhead(given, letterheadHash);
    const places = new Set(tenants.map(({ proof }) => proof.index));
    this.#assert(places.size === tenants.length, 'no tenant is listed twice');
    const rebuilt = statementDocument({
      header,
      state: 'closed',
      asOf: String(closedAt),
      headDigest: digest,
      tenantsInPeriod: internal === null ? null : Number(internal.leaves) - 1,
      tenants,
      letterhead,
      proof: {
        closeLine: close,
        closeDigest: digest,
        root,
        internal: internal === null ? null : normalizeInternal(internal),
      },
    });
    const isWhole = asciiJson(compactJson(text)) === asciiJson(exactJson(rebuilt));
    this.#assert(isWhole, 'the statement contains exactly the data in the proof');
    return rebuilt;
  }

  async #readLetterhead({ letterhead }: StatementDocument, hash: string): Promise<Letterhead | null> {
    const found = toHex(await this.#sha256(toUtf8(JSON.stringify(letterhead ?? null))));
    this.#assert(found === hash, 'the letterhead matches the close', found);
    return letterhead ?? null;
  }

  /** Checks the internal part of the proof, which tenants do not receive; returns the decoded leaf of the period. */
  async #readInternal(
    internal: NonNullable<Proof['internal']>,
    close: { root: string; hash: string; workspaceId: string; period: string },
  ): Promise<PeriodLeaf> {
    const bytes = new Uint8Array([...fromHex(internal.nonce), ...toUtf8(internal.line)]);
    const hash = toHex(await this.#sha256(bytes));
    this.#assert(hash === close.hash, 'the internal part matches the close', hash);
    const leaves = (JSON.parse(internal.line) as unknown[]).at(-1);
    this.#assert(leaves === internal.leaves, 'the close committed to this number of leaves', String(leaves));
    const header = decodePeriod(internal.period.leaf);
    const leads = header !== null && (await this.#leadsToRoot(internal.period, close.root));
    this.#assert(leads, 'the leaf of the period leads to the root');
    const isSame = header?.workspaceId === close.workspaceId && header.period === close.period;
    this.#assert(isSame, 'the leaf of the period names the closed period and workspace');
    return header as PeriodLeaf;
  }

  async #leadsToRoot({ index, leaf, path }: LeafProof, root: string): Promise<boolean> {
    if (!isProofPath(path)) return false;
    const nodes = await nodesToRoot({ index: Number(index), leaf, path }, this.#sha256);
    const found = nodes?.at(-1);
    return found !== undefined && toHex(found) === root;
  }

  /** Describes how the hashes lead from the leaf to the root, one step per line. */
  async #describePath({ index, leaf, path }: LeafProof): Promise<string> {
    const nodes = (await nodesToRoot({ index: Number(index), leaf, path }, this.#sha256)) ?? [];
    const [first, ...above] = nodes.map(toHex);
    const bits = Number(index).toString(2).padStart(path.length, '0').split('').reverse();
    const lines = above.map(
      (node, at) => `hashed to the ${bits[at] === '1' ? 'right' : 'left'} of ${path[at]}, giving ${node}`,
    );
    return [leaf, `SHA-256 of a 00 byte followed by this text: ${first}`, ...lines].join('\n');
  }

  #assert(passed: boolean, check: string, detail = ''): void {
    this.steps.push({ check, passed, detail });
    if (!passed) throw new StatementError(`this check failed: ${check}`);
  }
}

function parseStatement(text: string): StatementDocument | null {
  try {
    return JSON.parse(text) as StatementDocument | null;
  } catch {
    throw new StatementError('it is not JSON');
  }
}

/**
 * Writes a proof in the only form that the program itself produces: an unknown field is dropped, and the index is a
 * number. A statement whose proof has another form then differs from the rebuilt document and fails.
 */
function normalizeProof({ index, leaf, path }: LeafProof): LeafProof {
  return { index: Number(index), leaf, path };
}

function normalizeInternal({ line, nonce, leaves, period }: NonNullable<Proof['internal']>) {
  return { line, nonce: toHex(fromHex(nonce)), leaves: Number(leaves), period: normalizeProof(period) };
}

/**
 * Formats JSON on one line with every digit of bigints. Hand-written: JSON.rawJSON is missing in the older Node
 * versions that auditors run.
 */
function exactJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(exactJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${exactJson(inner)}`);
  return `{${members.join(',')}}`;
}

/** Removes the spaces between JSON tokens, so that texts that differ only in them compare as equal. */
function compactJson(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\n\r]+/g, '$1');
}

/** Escapes every non-ASCII character of JSON text, so that `é` and its escaped form compare as equal. */
function asciiJson(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
