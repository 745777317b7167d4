import { focusSchema } from '../../../src/config/schema/copies.ts';
import { workspaceSchema } from '../../../src/config/schema/workspace-settings.ts';
import type { Config, WorkspaceConfig } from '../../../src/config/types.ts';

const DEFAULTS = workspaceSchema.parse({
  id: 'test',
  name: 'Test',
  base_url: 'http://127.0.0.1',
  embed_url: 'http://127.0.0.1',
  api_key_id: 'ak_test',
  secret_key: 'sk_test_not_a_secret',
  concurrency: 4,
  requests_per_second: 10_000,
});

/** A workspace as the configuration has it, read from `url`. */
export function workspaceConfig(url: string, own: Partial<WorkspaceConfig> & { id: string }): WorkspaceConfig {
  return { ...DEFAULTS, timezone: 'UTC', baseUrl: url, embedUrl: url, ...own };
}

/** A configuration in which nothing but the place of the ledger is set, without workspaces. */
export function plainConfig(path: string): Config {
  return {
    file: null,
    ledger: { path, retentionDays: 400 },
    workers: 64,
    redisUrl: null,
    timezone: 'UTC',
    proxy: null,
    http: {
      host: '127.0.0.1',
      port: 0,
      token: null,
      tokens: [],
      tokenFile: `${path}.token`,
      metrics: 'token',
      readyWhenStalePercent: 0,
      publicUrl: null,
      oidc: null,
      proxySignIn: null,
    },
    workspaces: [],
    s3: null,
    backup: null,
    publish: null,
    outlets: [],
    exports: [],
    rates: null,
    costs: null,
    close: { maxChange: null },
    statement: { number: null, letterhead: null },
    focus: focusSchema.parse({}),
    heartbeats: [],
    alerts: { channels: [] },
    logLevel: 'silent',
  };
}
