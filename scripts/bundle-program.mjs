// The second part of `npm run build`: makes a few large files of the program, which the compiler leaves in some 1,400 small ones,
// for to find and open a file costs more than what is in it. In dist/program are then podloop.js, which users run, and in files of
// their own the thread that reads manifests and what only some commands need. The libraries are in there too, but for one with native
// code, and their licences. What users import from podloop (scripts/library-entries.json) is bundled with it,
// so that libraries are there once; our own modules are others in it than in the program, so that neither is cut into more files because
// of the other. It lies in dist/.library, from where scripts/bundle-library.mjs takes it.
//
// The names of all but podloop.js change with what is in them and in what they import. An agent whose package is upgraded meanwhile
// finds the file that it was built with, or none; never another one.
//
//   node scripts/bundle-program.mjs
//
// Lines of the log name the file and the line that wrote them (src/base/log/source-places.ts). podloop.parts says where the parts of
// each file come from.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { bundlePage } from './bundle-page.mjs';
import { MINIFIED, SETTINGS } from './bundle-settings.mjs';
import { describeLicenses, listLibraries } from './bundled-licenses.mjs';
import { withoutIndents } from './without-indents.mjs';

const repository = path.resolve(import.meta.dirname, '..');
const compiled = path.join(repository, 'dist');
const target = path.join(compiled, 'program');

const LIBRARY = /[\\/]node_modules[\\/]/;
/** The messages of CRI, whose code protoc's generator writes: as little to be read as a library's. */
const GENERATED = /[\\/]generated[\\/]/;
const ENTRY = { podloop: path.join(compiled, 'cli/main.js') };
const LIBRARY_ENTRIES = JSON.parse(readFileSync(new URL('./library-entries.json', import.meta.url), 'utf8'));
/** Stands behind the path of a module of ours as users import it. */
const IMPORTED = '?imported';

const build = await rolldown({
  input: ENTRY,
  plugins: [
    { name: 'threads', transform: bundleThreads },
    { name: 'library', buildStart: addLibrary, resolveId: resolveImported, load: loadImported },
  ],
  cwd: repository,
  preserveEntrySignatures: 'allow-extension',
  ...SETTINGS,
});
const { output } = await build.generate({
  dir: compiled,
  format: 'esm',
  sourcemap: true,
  comments: false,
  minifyInternalExports: false,
  // Libraries and what is generated have files of their own, which can be minified: nobody reads a stack into their lines, ours keep
  // theirs.
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      { test: LIBRARY, name: libraryOf, debugName: 'libraries' },
      { test: GENERATED, name: 'messages' },
    ],
  },
  entryFileNames: 'program/[name].js',
  chunkFileNames: ({ moduleIds }) => `${isOfLibrary(moduleIds) ? 'library' : 'program'}/[name]-[hash].js`,
});
await build.close();
// The maps are files of their own, too, which nobody gets.
const [chunks, imported] = [[], []];
for (const { type, fileName: file, code, map, moduleIds, imports } of output) {
  if (type !== 'chunk') continue;
  const [folder, fileName] = file.split('/');
  (folder === 'library' ? imported : chunks).push({ fileName, code, map, moduleIds, imports });
}

const parts = new Map();
const page = await bundlePage();
const moduleIds = [...chunks.flatMap((chunk) => chunk.moduleIds), ...page.moduleIds];
const contents = new Map([['LICENSES.txt', Buffer.from(describeLicenses(moduleIds))], ...page.files]);
for (const chunk of chunks) {
  if (chunk.moduleIds.length > 0 && chunk.moduleIds.every((id) => LIBRARY.test(id) || GENERATED.test(id))) {
    contents.set(chunk.fileName, Buffer.from(toAscii(minified(chunk.code))));
    continue;
  }
  const { code, indents } = withoutIndents(toAscii(withoutPlaces(withoutMap(chunk.code))));
  contents.set(chunk.fileName, Buffer.from(code));
  if (chunk.map) parts.set(chunk.fileName, brotliCompressSync(describeParts(chunk, indents)));
}
contents.set('podloop.parts', indexParts(parts));
replaceFolder(target, contents);
replaceFolder(path.join(compiled, '.library'), describeLibrary());
// Newer than what the compiler has left, by which tests know that it is of the same sources.
const now = new Date();
utimesSync(path.join(target, 'podloop.js'), now, now);

/** The name of the file that a library gets. */
function libraryOf(id) {
  const [, name] = /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(id);
  return name.replace(/^@/, '').replace(/[\\/]/, '-');
}

function minified(code) {
  const { code: result, errors } = minifySync('library.js', code, { module: true, ...MINIFIED });
  if (errors.length > 0) throw new Error(`a library cannot be minified: ${errors[0].message}`);
  return result;
}

/** What a module of ours names by its own place is the code of a thread: it becomes a file of its own, whose name is put there. */
function bundleThreads(code, id) {
  if (!id.startsWith(compiled + path.sep) || id.endsWith(IMPORTED)) return null;
  const replaced = code.replaceAll(/\bnew URL\('(\.\/[^']+)\.js', import\.meta\.url\)/g, (_, thread) => {
    const file = path.resolve(path.dirname(id), `${thread}.js`);
    const reference = this.emitFile({ type: 'chunk', id: file, name: path.basename(thread) });
    return `new URL(import.meta.ROLLUP_FILE_URL_${reference})`;
  });
  // On the same line: the map of the module holds.
  return replaced === code ? null : { code: replaced, map: null };
}

function addLibrary() {
  for (const [name, file] of Object.entries(LIBRARY_ENTRIES)) {
    const id = path.join(compiled, `${file}.js`) + IMPORTED;
    this.emitFile({ type: 'chunk', id, fileName: `library/${name}.js`, preserveSignature: 'strict' });
  }
}

/** What a module of the library imports of ours is of the library, too, but for the messages: they are as large as a library. */
async function resolveImported(source, importer) {
  if (source.endsWith(IMPORTED)) return source;
  // Everything else is found as for the program. With two answers for one module, the output would depend on which comes first.
  if (!importer?.endsWith(IMPORTED) || !/^[.#]/.test(source)) return null;
  const { id } = await this.resolve(source, importer.slice(0, -IMPORTED.length), { skipSelf: true });
  return GENERATED.test(id) ? id : id + IMPORTED;
}

function loadImported(id) {
  return id.endsWith(IMPORTED) ? readFileSync(id.slice(0, -IMPORTED.length), 'utf8') : null;
}

function isOfLibrary(moduleIds) {
  return moduleIds.length > 0 && moduleIds.every((id) => id.endsWith(IMPORTED));
}

/** The code that users import, and the names of the libraries that it uses. */
function describeLibrary() {
  const files = new Map(
    imported.map(({ fileName, code }) => [fileName, Buffer.from(minified(withoutMap(code)))]),
  );
  const byName = new Map(chunks.map((chunk) => [`program/${chunk.fileName}`, chunk]));
  const used = new Set(imported.flatMap(({ imports }) => imports));
  // Libraries use others; a set has these behind them while it is walked.
  for (const name of used) for (const other of byName.get(name)?.imports ?? []) used.add(other);
  const modules = [...used].flatMap((name) => byName.get(name)?.moduleIds ?? []);
  return files.set('libraries.json', Buffer.from(JSON.stringify(listLibraries(modules))));
}

/** A folder that is as it should be is left alone: others may just be loading or packing it. */
function isThere(folder, wanted) {
  if (!existsSync(folder) || readdirSync(folder).length !== wanted.size) return false;
  return [...wanted].every(([name, content]) => {
    const file = path.join(folder, name);
    return existsSync(file) && content.equals(readFileSync(file));
  });
}

/** All at once, for whoever starts the program meanwhile. */
function replaceFolder(folder, wanted) {
  if (isThere(folder, wanted)) return;
  // Beside it: folders cannot be moved from one file system to another.
  const work = mkdtempSync(path.join(compiled, '.program-'));
  try {
    const [fresh, old] = [path.join(work, 'fresh'), path.join(work, 'old')];
    mkdirSync(fresh);
    for (const [name, content] of wanted) writeFileSync(path.join(fresh, name), content);
    if (existsSync(folder)) renameSync(folder, old);
    renameSync(fresh, folder);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/**
 * Where the parts of a file come from that are ours, as `src/base/log/file-parts.ts` reads it. A part goes as far as lines here and
 * there go along with one another. `indents` says how many characters each line has lost at its beginning.
 */
function describeParts({ code, map }, indents) {
  const files = map.sources.map((source) =>
    path.relative(compiled, path.resolve(target, source)).split(path.sep).join('/'),
  );
  const lines = code.split('\n');
  const [sources, parts] = [[], []];
  let current = '0';
  for (const { line, column, source, sourceLine } of segmentsOf(map)) {
    const file = files[source];
    const isOurs = !file.startsWith('..');
    const part = isOurs ? `${file} ${line - sourceLine}` : '0';
    if (part === current) continue;
    current = part;
    if (isOurs && !sources.includes(file)) sources.push(file);
    const before = toAscii(lines[line - 1].slice(0, column)).length;
    const begin = Math.max(before - (indents[line - 1] ?? 0), 0) + 1;
    const bytes = Buffer.alloc(10);
    bytes.writeUInt32LE(line, 0);
    // No line of ours is so long; behind that, a place would be the one before.
    bytes.writeUInt16LE(Math.min(begin, 0xffff), 4);
    bytes.writeUInt16LE(isOurs ? sources.indexOf(file) + 1 : 0, 6);
    bytes.writeUInt16LE(isOurs ? sourceLine : 0, 8);
    parts.push(bytes);
  }
  const count = Buffer.alloc(4);
  count.writeUInt32LE(parts.length);
  return Buffer.concat([count, ...parts, Buffer.from(sources.join('\n'))]);
}

/**
 * All parts in one file, as `src/base/log/file-parts.ts` reads it: the length of a table in bytes, the table in JSON (where those of each
 * file begin behind it, and how many bytes they are), and they themselves, compressed: they would be a tenth of the program.
 */
function indexParts(parts) {
  const table = {};
  let at = 0;
  for (const [name, bytes] of parts) {
    table[name] = [at, bytes.length];
    at += bytes.length;
  }
  const text = Buffer.from(JSON.stringify(table));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, ...parts.values()]);
}

/** Nobody gets the map that the last line names. */
function withoutMap(code) {
  return code.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n');
}

/** Where each module begins is in podloop.parts; the line stays, so that those behind it keep their numbers. */
function withoutPlaces(code) {
  return code.replaceAll(/^\/\/ dist\/[\w./-]+\.js$/gm, '');
}

/** Text beyond Latin-1 takes two bytes a character in memory, all of a file. Outside of comments an escape says the same. */
function toAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The parts of a source map's text, in the order in which they stand; lines count from 1, columns from 0. */
function* segmentsOf({ mappings }) {
  let [source, sourceLine] = [0, 0];
  for (const [at, line] of mappings.split(';').entries()) {
    let column = 0;
    for (const segment of line === '' ? [] : line.split(',')) {
      const [columns, sources, lines] = readNumbers(segment);
      column += columns;
      if (sources === undefined) continue;
      source += sources;
      sourceLine += lines;
      yield { line: at + 1, column, source, sourceLine: sourceLine + 1 };
    }
  }
}

/** Numbers in base 64: five bits each, the lowest first; the sixth says that there are more, the lowest of all is the sign. */
function readNumbers(segment) {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = digits.indexOf(character);
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
