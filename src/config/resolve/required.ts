/** A value that the cross-checks have found to be there. */
export function required<Value>(value: Value | undefined, key: string): Value {
  if (value === undefined) throw new Error(`${key} is missing although the cross-checks passed`);
  return value;
}
