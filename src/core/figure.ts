/**
 * The largest number of credits, count or amount that can be stored or computed. The smallest is its negative. -2^63 is
 * excluded, because its absolute value does not fit into 64 bits.
 */
export const LARGEST_FIGURE = 2n ** 63n - 1n;
