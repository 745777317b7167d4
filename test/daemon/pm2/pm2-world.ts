import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PM2 = fileURLToPath(new URL('../../../node_modules/.bin/pm2', import.meta.url));
/** What the package ships. */
export const ECOSYSTEM = fileURLToPath(new URL('../../../ecosystem.config.cjs', import.meta.url));
const run = promisify(execFile);

export interface Listed {
  pid: number;
  pm2_env: { status: string; restart_time: number; exit_code?: number };
}

export interface LogLine {
  level?: string;
  msg?: string;
  pid?: number;
}

/** The real pm2 with a home of its own in a folder of its own, so that nobody else's processes are seen or touched. */
export class Pm2World {
  readonly folder = mkdtempSync(join(tmpdir(), 'ul-pm2-'));
  readonly #home = join(this.folder, 'pm2');

  async pm2(...args: string[]): Promise<string> {
    const env = { ...process.env, PM2_HOME: this.#home, NO_COLOR: '1' };
    const { stdout } = await run(process.execPath, [PM2, ...args], { cwd: this.folder, env });
    return stdout;
  }

  /** The one process that it looks after. */
  async listed(): Promise<Listed> {
    const out = await this.pm2('jlist');
    const [app] = JSON.parse(out.slice(out.indexOf('[{'))) as Listed[];
    if (app === undefined) throw new Error('pm2 runs nothing');
    return app;
  }

  /** All exit codes so far, as pm2's own log has them. */
  exitCodes(): number[] {
    const log = this.#read('pm2.log');
    return [...log.matchAll(/App \[usage-ledger:\d+\] exited with code \[(\d+)\]/g)].map(([, code]) => Number(code));
  }

  logText(stream: 'out' | 'error'): string {
    return this.#read(join('logs', `usage-ledger-${stream}.log`));
  }

  logLines(stream: 'out' | 'error' = 'out'): LogLine[] {
    const lines = this.logText(stream).split('\n');
    return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
  }

  async close(): Promise<void> {
    await this.pm2('kill').catch(() => undefined);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #read(name: string): string {
    const path = join(this.#home, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }
}
