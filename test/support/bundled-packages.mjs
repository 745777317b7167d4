// Preloaded into every process and thread of a test run: imports of drizzle come from one bundled file. Its several hundred modules
// take half a second and 200 MB per thread to load one by one. The shipped `dist` is bundled in the same way.
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { BUNDLED, bundleFile } from './bundle-packages.mjs';

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!BUNDLED.includes(specifier)) return nextResolve(specifier, context);
    return { url: pathToFileURL(bundleFile(specifier)).href, format: 'module', shortCircuit: true };
  },
});
