/** Versions of the FinOps Open Cost and Usage Specification that can be written. */
export const FOCUS_VERSIONS = ['1.2', '1.3'] as const;
export type FocusVersion = (typeof FOCUS_VERSIONS)[number];
