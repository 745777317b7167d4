import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { createWorld, FIRST, row, type World, workspaceSettings } from '../world.ts';

export const SECOND = { ...FIRST, id: 'ws-2', api_key_id: 'ak_second', secret_key: 'sk_second_not_a_secret' };
const CARDS = [{ name: 'euro', from_period: '2025-12', currency: 'EUR', price_per_credit: '12.34' }];
export const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>';

/** Two workspaces with the tenants a, b and c in two months; nothing is closed. */
export async function buildNumbered(statement: object): Promise<World> {
  const usage = ['2025-12', '2026-01'].flatMap((period) =>
    ['c', 'a', 'b'].map((tenant, at) => row(tenant, period, 1000 + at)),
  );
  const workspaces = [FIRST, SECOND].map((one) => ({ ...one, usage }));
  const world = await createWorld(...workspaces);
  writeFileSync(join(world.folder, 'logo.svg'), LOGO);
  world.configure({ statement, workspaces: workspaces.map((one) => workspaceSettings(world.sandbox, one)) });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: CARDS }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  return world;
}

export const close = (world: World, period: string, id: string) =>
  world.run('close', period, '--workspace', id, '--force', '--note', 'run 12');

export const numbersOf = (world: World) =>
  world.query(`SELECT workspace_id || ' ' || period || ' ' || tenant_id || ' ' || statement_number AS line
    FROM finance_charges WHERE statement_number IS NOT NULL ORDER BY statement_number`) as { line: string }[];
