import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'lossless-json';
import { afterAll, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { main } from '../../src/commands/main.ts';
import { createLogger } from '../../src/core/logger.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import type { ScenarioInput } from '../../src/sandbox/world/scenario.ts';
import type { SandboxRecord } from '../../src/sandbox/world/store.ts';
import type { ContextOverrides } from '../../src/wiring/context.ts';
import { openInProcessWriter } from '../support/in-process-writer.ts';
import { clockThat } from '../support/time/test-clock.ts';

/** 20 February 2026, 12:00 UTC. */
export const NOON = Date.UTC(2026, 1, 20, 12);
export const SECRET = 'sk_first_not_a_secret';

type WorkspaceInput = ScenarioInput['workspaces'][number];
type UsageInput = NonNullable<WorkspaceInput['usage']>[number];

export interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** A folder with a configuration, a stand-in for the service that it points to, and a clock. */
export interface World {
  folder: string;
  ledgerPath: string;
  sandbox: Sandbox;
  clock: { nowMs: number; serviceMs: number };
  /** One command line, in this process. */
  run(...argv: string[]): Promise<Outcome>;
  /** The same with another environment. */
  runWith(env: NodeJS.ProcessEnv, ...argv: string[]): Promise<Outcome>;
  /** One where a person looks at a terminal of so many columns; both outputs come in `out`, in their order. */
  runOnTerminal(columns: number, ...argv: string[]): Promise<Outcome>;
  /** The same, with a look at all that has come out whenever something does. */
  runWatched(columns: number, onOutput: (out: string) => void, ...argv: string[]): Promise<Outcome>;
  configure(settings: Record<string, unknown>): void;
  /** What a SELECT gives of the ledger. */
  query(sql: string): unknown[];
}

/** acme jumps in the open month; globex is steady and larger than a double can hold. */
export const USAGE: UsageInput[] = [
  row('acme', '2025-12', 1000),
  row('acme', '2026-01', 1000),
  row('acme', '2026-02', 5000),
  row('globex', '2025-12', 9007199254740993n),
  row('globex', '2026-01', 9007199254740993n),
  row('globex', '2026-02', 9007199254740993n),
];

export function row(
  tenant: string,
  period: string,
  credits: number | bigint,
  requests: number | bigint = 10,
): UsageInput {
  return { tenant_id: tenant, period, credits_used: credits, request_count: requests };
}

export const FIRST: WorkspaceInput = { id: 'ws-1', api_key_id: 'ak_first', secret_key: SECRET, usage: USAGE };
export const SECOND: WorkspaceInput = {
  id: 'ws-2',
  api_key_id: 'ak_second',
  secret_key: 'sk_second_not_a_secret',
  usage: [row('acme', '2026-02', 70), row('initech', '2026-02', 80)],
};

/** Where a command's writer works: in this process, which takes a third of the time, or in its thread, as it is shipped. */
type WriterPlace = Pick<ContextOverrides, 'openWriter'>;
const HERE: WriterPlace = { openWriter: openInProcessWriter };
const IN_ITS_THREAD: WriterPlace = {};

/**
 * Starts the stand-in and writes a configuration that reads all its workspaces; gone when the test has ended. The writer
 * needs no thread: for what may depend on one there is `createThreadedWorld`.
 */
export function createWorld(...workspaces: WorkspaceInput[]): Promise<World> {
  return createWorldWith(HERE, workspaces);
}

/** The same with the writer's thread. */
export function createThreadedWorld(...workspaces: WorkspaceInput[]): Promise<World> {
  return createWorldWith(IN_ITS_THREAD, workspaces);
}

interface Original {
  folder: string;
  scenario: ScenarioInput;
  sandboxUrl: string;
  rows: Map<string, SandboxRecord[]>;
  clock: World['clock'];
}

/**
 * Builds a world once per file and set of arguments, and gives every later test a copy with its own folder, stand-in and
 * clock. Call it at the top level of the file.
 */
export function copiesOf<Args extends unknown[]>(
  build: (...args: Args) => Promise<World>,
): (...args: Args) => Promise<World> {
  const originals = new Map<string, Original>();
  afterAll(() => {
    for (const { folder } of originals.values()) rmSync(folder, { recursive: true, force: true });
  });
  return async (...args) => {
    const key = JSON.stringify(args, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
    const original = originals.get(key);
    if (original !== undefined) return copyWorld(original);
    const world = await build(...args);
    originals.set(key, keep(world));
    return world;
  };
}

function keep({ folder, sandbox, clock }: World): Original {
  const kept = mkdtempSync(join(tmpdir(), 'usage-ledger-original-'));
  cpSync(folder, kept, { recursive: true });
  const rows = [...sandbox.workspaces].map(([id, workspace]) => [id, workspace.rows()] as const);
  return {
    folder: kept,
    scenario: sandbox.scenario,
    sandboxUrl: sandbox.url,
    rows: new Map(rows),
    clock: { ...clock },
  };
}

async function copyWorld({ folder, scenario, sandboxUrl, rows, clock }: Original): Promise<World> {
  const world = await createWorldWith(HERE, scenario.workspaces);
  Object.assign(world.clock, clock);
  for (const [id, known] of rows) for (const one of known) world.sandbox.workspace(id).set(one);
  cpSync(folder, world.folder, { recursive: true });
  const settings = join(world.folder, 'usage-ledger.yml');
  writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll(sandboxUrl, world.sandbox.url));
  return world;
}

async function createWorldWith(writer: WriterPlace, workspaces: WorkspaceInput[]): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-commands-'));
  const clock = { nowMs: NOON, serviceMs: NOON };
  const serviceClock = clockThat(() => clock.serviceMs);
  const sandbox = await startSandbox({ scenario: { workspaces }, clock: serviceClock });
  onTestFinished(async () => {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const here = { folder, clock, writer };
  const runWith = (env: NodeJS.ProcessEnv, ...argv: string[]) => runCommand({ ...here, env }, argv);
  const configure = (settings: Record<string, unknown>) =>
    writeFileSync(join(folder, 'usage-ledger.yml'), stringify(settings), { mode: 0o600 });
  configure({ workspaces: workspaces.map((workspace) => workspaceSettings(sandbox, workspace)) });
  const ledgerPath = join(folder, 'data', 'ledger.db');
  return {
    folder,
    ledgerPath,
    sandbox,
    clock,
    run: (...argv) => runWith({ PATH: process.env.PATH }, ...argv),
    runWith,
    runOnTerminal: (columns, ...argv) => runCommand({ ...here, env: { NO_COLOR: '1' } }, argv, columns),
    runWatched: (columns, onOutput, ...argv) =>
      runCommand({ ...here, env: { NO_COLOR: '1' } }, argv, columns, onOutput),
    configure,
    query: (sql) => withLedger(ledgerPath, (connection) => connection.prepare(sql).all()),
  };
}

export function workspaceSettings(sandbox: Sandbox, { id, api_key_id, secret_key }: WorkspaceInput) {
  return { id, base_url: sandbox.url, embed_url: sandbox.url, api_key_id, secret_key };
}

/** Runs a command line in an empty folder with nothing configured. */
export async function runInEmptyFolder(...argv: string[]): Promise<Outcome & { folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-commands-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, ...(await runCommand({ folder, env: {}, clock: { nowMs: NOON }, writer: HERE }, argv)) };
}

/** What came out of a command, of any shape: the tests say which. */
// biome-ignore lint/suspicious/noExplicitAny: an expectation on a wrong shape fails by itself
type Json = any;

/** One JSON document; integers beyond 2^53 come as bigints. */
export function parseJson(text: string): Json {
  return parse(text, undefined, {
    parseNumber: (digits) => {
      const value = Number(digits);
      return Number.isSafeInteger(value) || !/^-?\d+$/.test(digits) ? value : BigInt(digits);
    },
  });
}

/** What a command finds around it. */
interface Surroundings {
  folder: string;
  env: NodeJS.ProcessEnv;
  clock: { nowMs: number };
  writer: WriterPlace;
}

async function runCommand(
  { folder, env, clock, writer }: Surroundings,
  argv: string[],
  columns?: number,
  onOutput: (out: string) => void = () => undefined,
): Promise<Outcome> {
  let out = '';
  let err = '';
  const terminal = {
    write(text: string) {
      out += text;
      onOutput(out);
    },
    isTTY: true,
    ...(columns === undefined ? {} : { columns }),
  };
  const pipes = {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
  };
  const parts = { clock: clockThat(() => clock.nowMs), ...writer };
  const code = await main(argv, {
    ...(columns === undefined ? pipes : { stdout: terminal, stderr: terminal }),
    env,
    cwd: folder,
    overrides: columns === undefined ? { ...parts, logger: createLogger({ level: 'silent' }) } : parts,
  });
  return { code, out, err };
}

function withLedger<T>(path: string, use: (connection: LedgerDb) => T): T {
  const reader = openReader(path);
  try {
    return use(reader.connection);
  } finally {
    reader.close();
  }
}
