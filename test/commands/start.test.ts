import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** One file per module, so that a test can see which modules were loaded. */
const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
const SHIPPED = fileURLToPath(new URL('../../dist/', import.meta.url));

interface Started {
  code: number;
  out: string;
  err: string;
  /** Files of the build that were loaded, without the folder. */
  loaded: string[];
  /** Whether any native module was. */
  native: boolean;
}

/** A command line in a process of its own, which may say that its Node is another one. */
async function start(
  argv: string[],
  { nodeVersion = process.versions.node, from = SRC, before = '' } = {},
): Promise<Started> {
  const folder = temporaryFolder();
  const report = join(folder, 'report.json');
  const watch = `
    import { writeFileSync } from 'node:fs';
    import { registerHooks, syncBuiltinESMExports } from 'node:module';
    import threads from 'node:worker_threads';
    ${before}
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${nodeVersion}' } });
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    let native = false;
    const { dlopen } = process;
    process.dlopen = (...args) => ((native = true), dlopen.apply(process, args));
    process.on('exit', () => writeFileSync(${JSON.stringify(report)}, JSON.stringify({ loaded, native })));`;
  const hook = `data:text/javascript,${encodeURIComponent(watch)}`;
  const child = spawn(process.execPath, ['--import', hook, `${from}${from === SRC ? 'cli.ts' : 'cli.js'}`, ...argv], {
    cwd: folder,
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  const { loaded, native } = JSON.parse(readFileSync(report, 'utf8')) as { loaded: string[]; native: boolean };
  const files = loaded.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url));
  const ours = files.filter((file) => file.startsWith(from)).map((file) => file.slice(from.length));
  return { code, out, err, loaded: ours, native };
}

describe('the program as a process', () => {
  it.each([[['--version']], [['--help']], [['help']], [['no-such-command']]])(
    'loads no command for %j',
    async (argv) => {
      const { loaded, native } = await start(argv);
      expect(
        loaded.filter(
          (file) =>
            /^(ledger|sync|usage-api|wiring|writer|config|queue|daemon)\//.test(file) &&
            file !== 'config/exit-codes.ts',
        ),
      ).toEqual([]);
      const commands = loaded.filter((file) => file.startsWith('commands/'));
      expect(commands.toSorted()).toEqual([
        'commands/command-list.ts',
        'commands/main.ts',
        'commands/shared/cli-context.ts',
      ]);
      expect(native).toBe(false);
    },
  );

  it('loads the command that is called, and SQLite with it', async () => {
    const { loaded, native } = await start(['doctor']);
    expect(loaded).toContain('commands/doctor.ts');
    expect(loaded).not.toContain('commands/sync.ts');
    expect(native).toBe(true);
  });

  it("starts the writer's thread before it loads a command that writes, and ends it when there is nothing to write", async () => {
    const { loaded, code, err } = await start(['sync']);
    expect(loaded.indexOf('writer/start-thread.ts')).toBeGreaterThan(0);
    expect(loaded.indexOf('writer/start-thread.ts')).toBeLessThan(loaded.indexOf('commands/main.ts'));
    expect(code).toBe(2);
    expect(err).toContain('is not in this folder, and no USAGE_API_... variables are set');
  });

  it('leaves it to the command to say that there is no thread to be had', async () => {
    const before = `threads.Worker = class { constructor() { throw new Error('no thread'); } }; syncBuiltinESMExports();`;
    const { code, err } = await start(['migrate'], { before });
    expect(code).toBe(2);
    expect(err).toContain('is not in this folder, and no USAGE_API_... variables are set');
  });

  it.each([['22.13.1'], ['20.20.2'], ['18.20.8']])(
    'refuses Node %s in one line with exit code 2, before it loads anything',
    async (version) => {
      const { code, out, err, loaded, native } = await start(['doctor'], { nodeVersion: version });
      expect(code).toBe(2);
      expect(out).toBe('');
      expect(err).toBe(
        `error: usage-ledger needs Node 22.14 or newer (22, 24 and 26 are supported); this is Node ${version}\n`,
      );
      expect(loaded).toEqual(['cli.ts', 'core/process/compile-cache.ts', 'core/process/node-version.ts']);
      expect(native).toBe(false);
      const shipped = await start(['doctor'], { nodeVersion: version, from: SHIPPED });
      expect(shipped).toMatchObject({ code: 2, err, loaded: ['cli.js'], native: false });
    },
  );
});
