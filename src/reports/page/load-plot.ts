import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';
import type * as PlotLibrary from '@observablehq/plot';

/**
 * Loads what draws, and what it draws with, from the one file each that their packages have: from their hundreds of modules
 * it takes twice the CPU. Nothing is left in the global scope.
 */
export function loadPlot(): typeof PlotLibrary {
  const plot = createRequire(import.meta.url).resolve('@observablehq/plot');
  const d3 = createRequire(plot).resolve('d3');
  const drawing = load(join(dirname(d3), 'd3.min.js'), null);
  return load(join(dirname(plot), '../dist/plot.umd.min.js'), drawing) as typeof PlotLibrary;
}

/** What a file in the universal module format exports; whatever it requires is `required`. */
function load(path: string, required: unknown): unknown {
  const module = { exports: {} };
  const run = compileFunction(readFileSync(path, 'utf8'), ['module', 'exports', 'require'], { filename: path });
  run(module, module.exports, () => required);
  return module.exports;
}
