import { emptiedSettings } from '../../config/load.ts';
import type { Config } from '../../config/types.ts';
import { type Finding, warn } from './finding.ts';

/** Variables without a value where the configuration can do without one, such as the secret that would sign a webhook. */
export function checkVariables({ file }: Config, env: NodeJS.ProcessEnv): Finding[] {
  if (file === null) return [];
  return emptiedSettings(file, env).map(({ path, names }) =>
    warn(
      'variables',
      `${names.join(' and ')} is empty, so ${path} counts as not set`,
      'give it a value in the environment or in the .env beside the configuration, or remove the setting',
      path,
    ),
  );
}
