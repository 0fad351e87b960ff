// The last part of `npm run build`: makes dist/lib of what the compiler left, which is what users import from podloop. Each entry of
// scripts/library-entries.json becomes one file of code and one of types; what several entries need is in files that they share, so
// that a class is the same class whichever entry it comes from. Libraries are inside, their types too, but for the one with native code.
//
//   node scripts/bundle-library.mjs
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { MINIFIED, SETTINGS } from './bundle-settings.mjs';
import { listLibraries } from './bundled-licenses.mjs';

const repository = path.resolve(import.meta.dirname, '..');
const compiled = path.join(repository, 'dist');
const target = path.join(compiled, 'lib');

const ENTRIES = JSON.parse(readFileSync(new URL('./library-entries.json', import.meta.url), 'utf8'));
const { imports: AREAS } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'));

const folder = mkdtempSync(path.join(compiled, '.lib-'));
try {
  const modules = await bundleCode(folder);
  await bundleTypes(folder);
  writeFileSync(path.join(folder, 'LICENSES.txt'), nameLicenses(modules));
  rmSync(target, { recursive: true, force: true });
  renameSync(folder, target);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the modules that are inside. */
async function bundleCode(dir) {
  const build = await rolldown({
    input: entriesWith('.js'),
    cwd: repository,
    ...SETTINGS,
  });
  const { output } = await build.write({
    dir,
    format: 'esm',
    comments: false,
    minify: MINIFIED,
    chunkFileNames: '[name]-[hash].js',
  });
  await build.close();
  return output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
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

/** What is inside; the texts of the licences are shipped once, with the program, in which all of it is, too. */
function nameLicenses(modules) {
  const libraries = listLibraries(modules);
  const texts = readFileSync(path.join(compiled, 'program/LICENSES.txt'), 'utf8');
  const lost = libraries.filter((library) => !texts.includes(`${library}\n`));
  if (lost.length > 0) throw new Error(`the program has no licence of ${lost.join(', ')}`);
  return [
    'Parts of these libraries are in the files of this folder:\n',
    ...libraries,
    '\nTheir licences are in ../program/LICENSES.txt.\n',
  ].join('\n');
}
