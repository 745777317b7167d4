import { FOCUS_1_3 } from './focus-1.3.ts';
import type { FocusVersion } from './focus-versions.ts';

/** Ours; the specification wants such columns to begin with `x_`, and they stand last. */
const OWN = {
  x_AsOf: 'date',
  x_EntryId: 'count',
  x_HeadDigest: 'text',
  x_PeriodState: 'text',
  x_RequestCount: 'count',
} as const;

/** 1.3 has two columns more, beside which `ProviderName` stays. */
const { HostProviderName: _host, ServiceProviderName: _service, ...FOCUS_1_2 } = FOCUS_1_3;

const VERSIONS = { '1.2': { ...FOCUS_1_2, ...OWN }, '1.3': { ...FOCUS_1_3, ...OWN } } as const;

export type FocusColumn = keyof (typeof VERSIONS)['1.3'];

/** The columns of a version, in the order in which they are written; kinds in the words of `reports/formats/columns.ts`. */
export function focusColumns(
  version: FocusVersion,
): readonly { name: FocusColumn; kind: 'text' | 'count' | 'decimal' | 'date' }[] {
  const kinds: Partial<Record<FocusColumn, 'text' | 'count' | 'decimal' | 'date'>> = VERSIONS[version];
  return Object.entries(kinds).map(([name, kind]) => ({ name: name as FocusColumn, kind }));
}
