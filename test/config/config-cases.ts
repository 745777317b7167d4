import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { sampleConfig } from '../../src/config/samples.ts';
import type { Config } from '../../src/config/types.ts';
import { ConfigError } from '../../src/core/errors.ts';

// cspell:ignore akia

export const WORKSPACE = `
  - id: ws-1
    base_url: https://data.example.com/
    embed_url: https://embed.example.com
    api_key_id: ak_1
    secret_key: sk_one
`;

const SAMPLE_ENV = {
  USAGE_API_WORKSPACE_ID: 'ws',
  USAGE_API_KEY_ID: 'ak',
  USAGE_API_SECRET_KEY: 'sk_of_this_test',
  S3_ACCESS_KEY_ID: 'AKIA',
  S3_SECRET_ACCESS_KEY: 'secret-of-s3',
};

/** Configuration files in a folder of each test's own. */
export interface ConfigCases {
  readonly cwd: string;
  write(name: string, text: string, mode?: number): string;
  load(text: string, env?: NodeJS.ProcessEnv): Promise<Config>;
  /** The sample with some settings more. */
  loadSample(settings: string): Promise<Config>;
  /** The faults of a file as `path: message`. */
  faultsOf(text: string, env?: NodeJS.ProcessEnv): Promise<string[]>;
}

export function configCases(): ConfigCases {
  let cwd = '';
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'config-'));
  });
  afterEach(() => {
    rmSync(cwd, { recursive: true, force: true });
  });
  const write = (name: string, text: string, mode = 0o666): string => {
    const file = join(cwd, name);
    writeFileSync(file, text, { mode });
    return file;
  };
  const load = (text: string, env: NodeJS.ProcessEnv = {}): Promise<Config> =>
    loadConfig({ file: write('case.yml', text), env, cwd });
  return {
    get cwd() {
      return cwd;
    },
    write,
    load,
    loadSample: (settings) => load(`${sampleConfig()}\n${settings}\n`, SAMPLE_ENV),
    async faultsOf(text, env) {
      const { faults } = await failure(() => load(text, env));
      return faults.map((fault) => `${fault.path}: ${fault.message}`);
    },
  };
}

export async function failure(action: () => Promise<unknown>): Promise<ConfigError> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

/** What the sample shows of a group of settings, as if it were set. */
export function shownInSample(group: string): string {
  const shown = sampleConfig().match(new RegExp(`^# ${group}:.*\\n(# {3}.*\\n)+`, 'm'))?.[0] ?? '';
  return shown.replace(/^# ?/gm, '');
}
