// Preloaded into every process and thread of a test run. Imports of drizzle come from one bundled file: its several hundred modules
// take half a second and 200 MB per thread to load one by one. Components (`.tsx`) are compiled when they are loaded, because Node strips
// types but does not know JSX. The shipped `dist` is bundled, which does both.
import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { BUNDLED, bundleFile } from './bundle-packages.mjs';

const require = createRequire(import.meta.url);

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!BUNDLED.includes(specifier)) return nextResolve(specifier, context);
    return { url: pathToFileURL(bundleFile(specifier)).href, format: 'module', shortCircuit: true };
  },
  load(url, context, nextLoad) {
    if (!url.endsWith('.tsx')) return nextLoad(url, context);
    return { format: 'module', source: compileComponent(fileURLToPath(url)), shortCircuit: true };
  },
});

/** Compiles a component as the build does. The compiler is loaded by the first one. */
function compileComponent(file) {
  const { transformSync } = require('rolldown/utils');
  const { code, errors } = transformSync(file, readFileSync(file, 'utf8'), {
    jsx: { runtime: 'automatic', importSource: 'preact' },
  });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  return code;
}
