import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChangeCase } from './change-case.ts';

const NAMES = 'tenant_id,display_name,segment\nacme,Acme Limited,large\ntypo,Nobody,\n';

export const CHANGES_OF_TENANTS: Readonly<Record<string, ChangeCase>> = {
  'tenants.import': {
    given: ({ folder }) => writeFileSync(join(folder, 'other.csv'), NAMES),
    input: () => ({
      workspace: 'ws-1',
      names: [
        { tenant_id: 'acme', display_name: 'Acme Limited', labels: { segment: 'large' } },
        { tenant_id: 'typo', display_name: 'Nobody' },
      ],
    }),
    argv: () => ['tenants', 'import', 'other.csv', '--workspace', 'ws-1'],
    actors: null,
    withoutBy: true,
    // The second time, the names are unchanged.
    changesWhenRepeated: true,
  },
  'tenants.edit': {
    input: () => ({ tenant_id: 'acme', workspace: 'ws-1', external_ref: 'C-77', labels: { segment: 'large' } }),
    argv: null,
    actors: null,
  },
  'tenants.forget': {
    input: () => ({ tenant_id: 'acme', workspace: 'ws-1', dry_run: false }),
    argv: () => ['tenants', 'forget', 'acme', '--workspace', 'ws-1', '--yes'],
    actors: null,
    withoutBy: true,
    // The second time, no name is left.
    changesWhenRepeated: true,
  },
};
