// Stands in for preact in the script of a statement's page, which renders components to text and never to a screen: what
// renders to a screen would be a quarter of each page.
import { jsx } from 'preact/jsx-runtime';

export const options = {};

export function Fragment({ children }) {
  return children;
}

export function h(type, props) {
  return jsx(type, props ?? {});
}

/** As Preact itself does: JSON has no objects without a constructor. */
export function isValidElement(value) {
  return typeof value === 'object' && value !== null && value.constructor === undefined;
}
