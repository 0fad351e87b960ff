// In the single executable, run before anything else in the process and in each of its threads: the modules of the program come from
// inside of it. They have URLs below the executable's own path, where no file can be, so that nobody can put another one there.
'use strict';

const { isBuiltin, registerHooks } = require('node:module');
const { getRawAsset } = require('node:sea');
const { pathToFileURL } = require('node:url');

const ROOT = `${pathToFileURL(process.execPath).href}/`;
/** The packages that the program imports. */
const PACKAGES = { 'classic-level': `${ROOT}classic-level.js` };

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = (context.parentURL ?? '').startsWith(ROOT);
    const found = specifier.startsWith(ROOT)
      ? specifier
      : isOurs &&
        (PACKAGES[specifier] ?? (/^\.\.?\//.test(specifier) && new URL(specifier, context.parentURL).href));
    if (found) return { url: found, format: 'module', shortCircuit: true };
    if (!isOurs || isBuiltin(specifier)) return next(specifier, context);
    // Such as what libraries use when it is there; a folder node_modules above the executable is none of ours.
    throw Object.assign(new Error(`Cannot find module '${specifier}'`), { code: 'MODULE_NOT_FOUND' });
  },
  load(url, context, next) {
    if (!url.startsWith(ROOT)) return next(url, context);
    const source = Buffer.from(getRawAsset(url.slice(ROOT.length)));
    return { format: 'module', source, shortCircuit: true };
  },
});
