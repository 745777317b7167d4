import {
  type LeafProof,
  type Letterhead,
  STATEMENT_FORMAT,
  type StatementDocument,
  statementDocument,
} from '../billing/statement/document.ts';
import { decodePeriod, decodeTenant, type PeriodLeaf } from '../billing/statement/leaf.ts';
import { fromHex, isPath, nodesToRoot, type Sha256, toHex, utf8 } from './hashes.ts';

/** One thing that was looked at, in the order of the check. */
export interface Step {
  words: string;
  holds: boolean;
  /** What was compared or worked out, for who wants to do it again; may be empty. */
  detail: string;
}

/** Whether a statement agrees with itself, or what in it does not. */
export type StatementVerdict =
  | {
      agrees: true;
      /** Nothing says that the statement is authentic until this is the digest of a close that was kept elsewhere. */
      closeDigest: string;
      /** What was closed, worked out from the proof alone. */
      statement: StatementDocument;
      steps: Step[];
    }
  | { agrees: false; reason: string; steps: Step[] };

class Refused extends Error {}

/**
 * Checks the text of a statement with nothing but itself: every leaf leads to the root, the root stands in the line of the
 * close, that line has the digest which is named, and the text is what follows from them, but for the space between
 * tokens. Whoever makes all of it up passes, too.
 */
export async function verifyStatement(text: string, sha256: Sha256): Promise<StatementVerdict> {
  const check = new StatementCheck(sha256);
  try {
    const statement = await check.run(text);
    return { agrees: true, closeDigest: String(statement.head_digest), statement, steps: check.steps };
  } catch (error) {
    const reason = error instanceof Refused ? error.message : 'parts of it are missing or of another kind';
    return { agrees: false, reason, steps: check.steps };
  }
}

type Proof = NonNullable<StatementDocument['proof']>;

class StatementCheck {
  readonly steps: Step[] = [];
  readonly #sha256: Sha256;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  async run(text: string): Promise<StatementDocument> {
    const given = parse(text);
    if (given?.format !== STATEMENT_FORMAT) throw new Refused('it is not a statement of this form');
    if (given.state !== 'closed') {
      throw new Refused(`its period is ${String(given.state)}: only a closed one can be proven`);
    }
    if (given.proof === null) throw new Refused('it carries no proof');
    const { close, close_digest, root, internal } = given.proof;
    const digest = toHex(await this.#sha256(utf8(`${close}\n`)));
    this.#demand(digest === close_digest, 'the line of the close has the digest that is named', `${close}\n${digest}`);
    const line = JSON.parse(close) as unknown[];
    const [, , action, workspaceId, period, closedAt, internalHash, committed, headed] = line.map(String);
    this.#demand(
      action === 'close' && (line.length === 8 || line.length === 9),
      'the line is that of a close',
      `${period} of ${workspaceId}`,
    );
    this.#demand(committed === root, 'the root of the statement stands in the line of the close', root);
    const place = { workspaceId: String(workspaceId), period: String(period) };
    const header =
      internal === null
        ? { ...place, certificate: null }
        : await this.#readInternal(internal, { root, hash: String(internalHash), ...place });
    const tenants = [];
    for (const { proof } of given.tenants) {
      const tenant = proof === null ? null : decodeTenant(proof.leaf);
      if (proof === null || tenant === null) throw new Refused('what it says of a tenant is no part of a close');
      if (!(await this.#leadsToRoot(proof, root))) {
        this.#demand(false, `what it says of tenant ${JSON.stringify(tenant.tenantId)} leads to the root`);
      }
      tenants.push({ tenant, proof: plain(proof), projection: null });
    }
    const [only, ...others] = given.tenants;
    const detail = only?.proof == null || others.length > 0 ? '' : await this.#wayOf(only.proof);
    this.#demand(true, 'what it says of each tenant leads to the root', detail);
    const letterhead = headed === undefined ? null : await this.#readLetterhead(given, headed);
    const places = new Set(tenants.map(({ proof }) => proof.index));
    this.#demand(places.size === tenants.length, 'it lists no tenant twice');
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
        internal: internal === null ? null : plainInternal(internal),
      },
    });
    const isWhole = asciiJson(compactJson(text)) === asciiJson(exactJson(rebuilt));
    this.#demand(isWhole, 'it says what the proof is of, and nothing else');
    return rebuilt;
  }

  async #readLetterhead({ letterhead }: StatementDocument, hash: string): Promise<Letterhead | null> {
    const found = toHex(await this.#sha256(utf8(JSON.stringify(letterhead ?? null))));
    this.#demand(found === hash, 'its letterhead is that of the close', found);
    return letterhead ?? null;
  }

  /** The part of the close that no tenant is shown; gives what it says of the period. */
  async #readInternal(
    internal: NonNullable<Proof['internal']>,
    close: { root: string; hash: string; workspaceId: string; period: string },
  ): Promise<PeriodLeaf> {
    const bytes = new Uint8Array([...fromHex(internal.nonce), ...utf8(internal.line)]);
    const hash = toHex(await this.#sha256(bytes));
    this.#demand(hash === close.hash, 'the internal part is that of the close', hash);
    const leaves = (JSON.parse(internal.line) as unknown[]).at(-1);
    this.#demand(leaves === internal.leaves, 'the close has committed to so many parts', String(leaves));
    const header = decodePeriod(internal.period.leaf);
    const leads = header !== null && (await this.#leadsToRoot(internal.period, close.root));
    this.#demand(leads, 'what it says of the period leads to the root');
    const isSame = header?.workspaceId === close.workspaceId && header.period === close.period;
    this.#demand(isSame, 'the close is of that period and workspace');
    return header as PeriodLeaf;
  }

  async #leadsToRoot({ index, leaf, path }: LeafProof, root: string): Promise<boolean> {
    if (!isPath(path)) return false;
    const nodes = await nodesToRoot({ index: Number(index), leaf, path }, this.#sha256);
    const found = nodes?.at(-1);
    return found !== undefined && toHex(found) === root;
  }

  /** Every node from the leaf to the root, a line each. */
  async #wayOf({ index, leaf, path }: LeafProof): Promise<string> {
    const nodes = (await nodesToRoot({ index: Number(index), leaf, path }, this.#sha256)) ?? [];
    const [first, ...above] = nodes.map(toHex);
    const bits = Number(index).toString(2).padStart(path.length, '0').split('').reverse();
    const lines = above.map((node, at) => `${bits[at] === '1' ? 'behind' : 'before'} ${path[at]}: ${node}`);
    return [leaf, `with a byte 00 before it: ${first}`, ...lines].join('\n');
  }

  #demand(holds: boolean, words: string, detail = ''): void {
    this.steps.push({ words, holds, detail });
    if (!holds) throw new Refused(`it is not so that ${words}`);
  }
}

function parse(text: string): StatementDocument | null {
  try {
    return JSON.parse(text) as StatementDocument | null;
  } catch {
    throw new Refused('it is no JSON');
  }
}

/** The proof as the program writes it: whatever is spelled otherwise in the text is not what the text should say. */
function plain({ index, leaf, path }: LeafProof): LeafProof {
  return { index: Number(index), leaf, path };
}

function plainInternal({ line, nonce, leaves, period }: NonNullable<Proof['internal']>) {
  return { line, nonce: toHex(fromHex(nonce)), leaves: Number(leaves), period: plain(period) };
}

/** JSON in one line, with all digits of bigints. By hand, because `JSON.rawJSON` is younger than the Node of many an auditor. */
function exactJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(exactJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${exactJson(inner)}`);
  return `{${members.join(',')}}`;
}

/** JSON text without the space between its tokens. Two texts of one compact form are told from each other by nobody. */
function compactJson(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\n\r]+/g, '$1');
}

/** JSON text with each character outside of ASCII escaped, whichever of them its writer has escaped. */
function asciiJson(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
