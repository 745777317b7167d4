/** Whole digits with a comma at each thousand, exact at any length; a locale of Intl takes 15 ms to load for the first one. */
export function withThousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}
