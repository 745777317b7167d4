import { parseJson, type World } from './world.ts';

/** A line of the doctor's. */
export interface Check {
  check: string;
  subject: string | null;
  status: 'ok' | 'warn' | 'fail';
  message: string;
  remedy: string | null;
}

/** What the doctor says; `env` stands beside our PATH, or in its place. */
export async function examine(world: World, env: NodeJS.ProcessEnv = {}, ...argv: string[]) {
  const { code, out } = await world.runWith({ PATH: process.env.PATH, ...env }, 'doctor', '--json', ...argv);
  const { ok, checks } = parseJson(out) as { ok: boolean; checks: Check[] };
  return { code, ok, checks, troubles: checks.filter(({ status }) => status !== 'ok') };
}
