interface Colour {
  light: string;
  dark: string;
}

/** The colours of console pages, reports, statements and mails, for light and dark screens. A name says the use. */
export const COLOURS = {
  page: { light: '#f5f6f8', dark: '#0f1216' },
  surface: { light: '#ffffff', dark: '#171b21' },
  raised: { light: '#f0f2f5', dark: '#20262e' },
  ink: { light: '#14181f', dark: '#e8eaed' },
  quiet: { light: '#53606e', dark: '#a6b0bb' },
  line: { light: '#dde1e7', dark: '#2c333c' },
  accent: { light: '#2152c4', dark: '#8ab4ff' },
  'on-accent': { light: '#ffffff', dark: '#0b1b3a' },
  bad: { light: '#b3261e', dark: '#ff9d94' },
  'bad-soft': { light: '#fdecea', dark: '#3a1f1e' },
  odd: { light: '#7a4a00', dark: '#ffc46b' },
  'odd-soft': { light: '#fdf1dc', dark: '#352a12' },
  good: { light: '#1a6b3b', dark: '#86d8a4' },
  'good-soft': { light: '#e3f4e9', dark: '#17301f' },
} as const satisfies Record<string, Colour>;

/** Text sizes in pixels for a browser's default setting. Style sheets use rem, so that readers can enlarge the text. */
export const TEXT_SIZES = { small: 13, body: 15, large: 18, title: 24, figure: 28 } as const;

/** The fonts of the reader's system: nothing is loaded. */
export const FONTS = 'system-ui, -apple-system, Roboto, Helvetica, Arial, sans-serif';

export const RADIUS_PX = 10;

const ROOT_PX = 16;

/** Returns the style rule that defines the tokens as custom properties, such as `--ink` and `--small`. */
export function tokenRule(): string {
  const colours = Object.entries(COLOURS).map(([name, { light, dark }]) => `--${name}:light-dark(${light},${dark})`);
  const sizes = Object.entries(TEXT_SIZES).map(([name, px]) => `--${name}:${px / ROOT_PX}rem`);
  const others = ['--gap:1rem', `--radius:${RADIUS_PX}px`, `font:${ROOT_PX}px/1.45 ${FONTS}`];
  return `:root{${['color-scheme:light dark', ...colours, ...sizes, ...others].join(';')}}\n`;
}
