import { workspaceSchema } from '../../../src/config/schema/workspace-settings.ts';
import type { WorkspaceConfig } from '../../../src/config/types.ts';

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
  return { ...DEFAULTS, baseUrl: url, embedUrl: url, ...own };
}
