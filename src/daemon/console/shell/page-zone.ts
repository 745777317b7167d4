import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { UTC } from '../../../core/time-zone.ts';

/** The time zone in which a page shows times. */
export const PageZone = createContext<string>(UTC);

export function usePageZone(): string {
  return useContext(PageZone);
}
