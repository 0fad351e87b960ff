// The last part of `npm run build`: makes dist/lib, which is what users import from podloop. Each entry of scripts/library-entries.json
// becomes one file of code and one of types; what several entries need is in files that they share, so that a class is the same class
// whichever entry it comes from. The code was bundled with the program (scripts/bundle-program.mjs), beside which the libraries lie that
// both use; their types are inside.
//
//   node scripts/bundle-library.mjs
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const repository = path.resolve(import.meta.dirname, '..');
const compiled = path.join(repository, 'dist');
const target = path.join(compiled, 'lib');

const ENTRIES = JSON.parse(readFileSync(new URL('./library-entries.json', import.meta.url), 'utf8'));
const { imports: AREAS } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'));

const folder = mkdtempSync(path.join(compiled, '.lib-'));
try {
  const libraries = copyCode(folder);
  await bundleTypes(folder);
  writeFileSync(path.join(folder, 'LICENSES.txt'), nameLicenses(libraries));
  rmSync(target, { recursive: true, force: true });
  renameSync(folder, target);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Copies what was bundled with the program; returns the names of the libraries that it uses. */
function copyCode(dir) {
  const bundled = path.join(compiled, '.library');
  for (const name of readdirSync(bundled).filter((each) => each.endsWith('.js')))
    copyFileSync(path.join(bundled, name), path.join(dir, name));
  return JSON.parse(readFileSync(path.join(bundled, 'libraries.json'), 'utf8'));
}

async function bundleTypes(dir) {
  const build = await rollup({
    input: entriesWith('.d.ts'),
    plugins: [{ name: 'areas', resolveId: findArea }, dts({ respectExternal: true })],
    external: isBuiltin,
    onwarn(warning) {
      // Types that only other types name are no part of an entry; they are there all the same.
      if (!/no public re-export/.test(warning.message)) throw new Error(warning.message);
    },
  });
  await build.write({
    dir,
    format: 'es',
    entryFileNames: '[name].d.ts',
    chunkFileNames: '[name]-[hash].d.ts',
  });
  await build.close();
}

function entriesWith(ending) {
  const files = Object.entries(ENTRIES).map(([name, file]) => [
    name,
    path.join(compiled, `${file}${ending}`),
  ]);
  return Object.fromEntries(files);
}

/** The compiled types that a name of an area stands for: `#base/async/mutex.js`, `#watch`. */
function findArea(specifier) {
  for (const [pattern, { default: file }] of Object.entries(AREAS)) {
    const [before, after] = pattern.split('*');
    if (after === undefined ? specifier !== pattern : !specifier.startsWith(before)) continue;
    const found = file.replace('*', specifier.slice(before.length)).replace(/\.js$/, '.d.ts');
    return path.resolve(repository, found);
  }
  return null;
}

/** What is used, and whose types are inside; the texts of the licences are shipped once, with the program, in which the code is. */
function nameLicenses(libraries) {
  const texts = readFileSync(path.join(compiled, 'program/LICENSES.txt'), 'utf8');
  const lost = libraries.filter((library) => !texts.includes(`${library}\n`));
  if (lost.length > 0) throw new Error(`the program has no licence of ${lost.join(', ')}`);
  return [
    'The files of this folder use these libraries, and have types of them:\n',
    ...libraries,
    '\nTheir licences are in ../program/LICENSES.txt.\n',
  ].join('\n');
}
