import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CliContext } from '../../src/commands/shared/cli-context.ts';
import { ProgressBar } from '../../src/commands/shared/progress.ts';
import { CLI } from '../support/daemon-process.ts';
import { createWorld, FIRST, parseJson, runInEmptyFolder } from './world.ts';

// cspell:ignore creat exel explian lsit periood stauts verfy

const ERASE_LINE = '\r\u001b[K';

describe('options that all commands share', () => {
  it('have short forms', async () => {
    const short = await runInEmptyFolder('-h');
    expect(short).toMatchObject({ code: 0, out: (await runInEmptyFolder('--help')).out });
    expect((await runInEmptyFolder('-v')).out).toBe((await runInEmptyFolder('--version')).out);
    expect((await runInEmptyFolder('alerts', 'list', '-h')).out).toContain('Usage: usage-ledger alerts list');
  });

  it('stand before the command or after it', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    renameSync(join(world.folder, 'usage-ledger.yml'), join(world.folder, 'own.yml'));
    const lines = [
      ['--config', 'own.yml', '--json', 'alerts', 'list'],
      ['alerts', '--config', 'own.yml', 'list', '--json'],
      ['--json', 'alerts', '--config', 'own.yml'],
      ['alerts', 'list', '--json', '--config', 'own.yml'],
    ];
    for (const argv of lines) {
      const { code, out } = await world.run(...argv);
      expect(code, argv.join(' ')).toBe(0);
      expect(parseJson(out).alerts, argv.join(' ')).toEqual([]);
    }
    expect(await world.run('alerts', 'list', '--json')).toMatchObject({ code: 2 });
  });

  it.each([
    [['--json', 'daemon'], "unknown option '--json' for daemon"],
    [['--config', 'x.yml', 'sandbox'], "unknown option '--config' for sandbox"],
  ])('are refused where they mean nothing: %j', async (argv, message) => {
    expect(await runInEmptyFolder(...argv)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });
});

it.each(['status', 'usage', 'tenants list', 'alerts list'])(
  'a page of the ledger that cannot be read is said with its remedy by `%s`, without a stack',
  async (command) => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const file = openSync(world.ledgerPath, 'r+');
    // All but what opening looks at.
    const junk = Buffer.alloc(fstatSync(file).size - 40_960, 0x5a);
    writeSync(file, junk, 0, junk.length, 40_960);
    closeSync(file);
    const { code, err } = await world.run(...command.split(' '));
    expect(err).toMatch(/^error: database disk image is malformed\n {2}restore the ledger from a backup\n$/);
    expect(code).toBe(2);
  },
);

describe('a misspelt word', () => {
  it.each([
    [['stauts'], 'Did you mean status?'],
    [['help', 'stauts'], "unknown command 'stauts'\n(Did you mean status?)"],
    [['help', 'nope'], "error: unknown command 'nope'\n"],
    [['alerts', 'lsit'], 'Did you mean list?'],
    [['alerts', 'explian', 'alert_1'], 'Did you mean explain?'],
    [['dashboard', 'creat'], 'Did you mean create?'],
    [['statement', 'verfy', 'x.json'], 'too many arguments'],
    [['usage', '--format', 'exel'], 'Allowed choices are table, csv'],
    [['usage', '--periood', 'x'], 'Did you mean --period?'],
  ])('%j is answered with what was meant, or what may stand there', async (argv, message) => {
    expect(await runInEmptyFolder(...argv)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });
});

describe('Ctrl-C', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends a sync with %i, and nothing half-done is kept', async (signal, code) => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    world.sandbox.faults.push({ times: Infinity, action: { type: 'delay', delayMs: 60_000 } });
    const child = start(world.folder, 'sync');
    await expect.poll(() => world.sandbox.requests.count).toBeGreaterThan(0);
    const exited = once(child, 'close');
    child.kill(signal);
    expect(await exited).toEqual([code, null]);
    expect(child.words.err).toContain(`stopped by ${signal}`);
    expect(world.query("SELECT count(*) AS n FROM runs WHERE status = 'applied'")).toEqual([{ n: 0 }]);
  });
});

describe('a progress bar', () => {
  it('is cleared before other output is written', () => {
    const written: string[] = [];
    const terminal = { write: (text: string) => written.push(text), isTTY: true, columns: 60 };
    const cli = new CliContext({ stdout: terminal, stderr: terminal, env: { NO_COLOR: '1' }, cwd: '/' });
    const bar = new ProgressBar(terminal, 'ws-1', 'pages');
    const release = cli.attachProgressLine(bar);
    cli.print('a result');
    cli.note('a note');
    cli.logDestination?.write('{"level":"info","msg":"a log line"}\n', 'info');
    release();
    bar.stop();
    const words = ['a result\n', 'a note\n', ' INFO  a log line\n'];
    for (const text of words) {
      const at = written.indexOf(text);
      expect(written[at - 1], text).toBe(ERASE_LINE);
      expect(written[at + 1], text).toMatch(/ws-1 .*0\/1 pages$/);
    }
    expect(written.at(-1)).toBe(ERASE_LINE);
    // One column less than there are: no line break by itself.
    for (const text of written) expect(text.replace(ERASE_LINE, '').length).toBeLessThan(60);
  });

  it('is shown by a sync on a terminal, and is gone when it ends', async () => {
    const world = await createWorld(FIRST);
    const { code, out } = await world.runOnTerminal(80, 'sync');
    expect(code).toBe(0);
    expect(out).toMatch(/ws-1 {2}░+ 0\/1 pages/);
    expect(out.slice(out.lastIndexOf(ERASE_LINE))).toMatch(/\nalerts|ws-1: recorded 6 entries/);
  });
});

function start(cwd: string, ...argv: string[]): ChildProcess & { words: { err: string } } {
  const child = spawn(process.execPath, [CLI, ...argv], { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const words = { err: '' };
  child.stderr?.on('data', (chunk: Buffer) => (words.err += chunk.toString()));
  return Object.assign(child, { words });
}
