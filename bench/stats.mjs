/** The middle one; of an even number, the mean of the two in the middle. */
export function median(numbers) {
  if (numbers.length === 0) throw new Error('there is no median of nothing');
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Of many measurements with the same fields: the median of each field. */
export function medians(measurements) {
  const fields = Object.keys(measurements[0] ?? {});
  return Object.fromEntries(fields.map((field) => [field, median(measurements.map((one) => one[field]))]));
}
