// How the sources are arranged, in numbers: `npm run house` prints them beside those of commit 8f899c7a and the aims.
//
//   node scripts/house.mjs [--json]     of the folder that PODLOOP_HOUSE names, or of this one
//
// What counts: hand-written files below src that are no tests. Each number says beside it how it is counted. Those with a limit may
// not get worse: test/house.test.ts holds them.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const REPOSITORY = path.resolve(import.meta.dirname, '..');
const LARGEST_FOLDER = 25;
/** Areas that are made to be imported piece by piece. */
const OPEN_AREAS = new Set(['base', 'kube']);
/** Words that only we use in that way; see CONTRIBUTING.md. */
const PRIVATE_WORDS = /\b(?:unless told|tells?|told|anew|of which)\b/gi;

/** Of commit 8f899c7a, counted by this script: what is not in there was not counted then. */
const BEFORE = JSON.parse(readFileSync(new URL('./house-before.json', import.meta.url), 'utf8'));

/**
 * The rows of the table: `name`, `value`, `aim` in words, and `limit`, above which it is a fault (absent: it is only shown).
 *
 * @param {string} repository its folder
 */
function measureHouse(repository) {
  const files = readSources(path.join(repository, 'src'));
  const importers = findImporters(files);
  const lengths = [...files.values()].map((text) => text.split('\n').length - 1);
  const perFolder = countBy([...files.keys()], (file) => path.posix.dirname(file));
  const names = countBy(
    [...files.keys()].filter((file) => !file.endsWith('/index.ts')),
    (file) => path.posix.basename(file),
  );
  // A file that only a door has is for all who come through that.
  const single = [...importers.values()]
    .map((from) => [...from])
    .filter(
      ([first, ...rest]) => first !== undefined && rest.length === 0 && !first.endsWith('index.ts'),
    ).length;
  return [
    { name: 'areas of src', value: new Set([...files.keys()].map(areaOf)).size, aim: '<= 14', limit: 14 },
    {
      name: 'files imported across the border of an area, but for base, kube and doors (index.ts)',
      value: [...importers].filter(([file, from]) => isOpened(file, from)).length,
      aim: '<= 60',
      limit: BORDER_LIMIT,
    },
    { name: 'median lines of a file', value: medianOf(lengths), aim: 'about 100' },
    {
      name: 'files that exactly one other file imports, in percent',
      value: Math.round((100 * single) / files.size),
      aim: '<= 30',
      limit: SINGLE_LIMIT,
    },
    {
      name: `folders with more than ${LARGEST_FOLDER} files`,
      value: [...perFolder.values()].filter((count) => count > LARGEST_FOLDER).length,
      aim: '0',
      limit: 0,
    },
    {
      name: 'names of files used twice, but for index.ts',
      value: [...names.values()].filter((count) => count > 1).length,
      aim: '<= 10',
      limit: NAMES_LIMIT,
    },
    {
      name: 'private words in 1,000 lines of comments and help (tell, tells, told, anew, unless told, of which)',
      value: countPrivateWords(files),
      aim: '<= 10',
      limit: WORDS_LIMIT,
    },
    {
      name: 'parts that listen to the channels of the whole process',
      value: countGlobalListeners(files),
      aim: '0',
      limit: 0,
    },
    {
      name: 'files that name an option, but for the folder of its row (median)',
      value: medianOf(countOptionUsers(files)),
      aim: '1',
      limit: 2,
    },
    {
      name: 'files that name a metric (mean)',
      value: meanOf(countMetricUsers(files)),
      aim: '<= 1.1',
      limit: 1.1,
    },
    {
      name: 'promises that callers share by hand, outside of base/async (`??= …finally`)',
      value: countIn(files, (text) => [...text.matchAll(SHARED_BY_HAND)].length),
      aim: '0',
      limit: 4,
    },
    {
      name: 'lines of waiting callers built by hand: classes named Slots, Pool, Lanes or Mutex without one of base/async',
      value: countIn(files, (text) => Number(WAITING_LINE.test(text) && !text.includes("'#base/async/"))),
      aim: '0',
      limit: 0,
    },
    {
      name: 'files that write durable records without a RecordFile (base/fs)',
      value: countIn(files, (text) => Number(/\bwriteWhole\(/.test(text))),
      aim: 'what is not a durable record: certificates, blobs, files of containers',
      limit: 13,
    },
    ...measurePackage(repository),
  ];
}

/** The sum over files, but for those of base, which have the one of each. */
function countIn(files, countOne) {
  return [...files]
    .filter(([file]) => !file.startsWith('base/'))
    .reduce((sum, [, text]) => sum + countOne(text), 0);
}

const SHARED_BY_HAND = /\?\?= this\.#\w+\([^;]{0,200}?\)\s*\.finally\(/g;
const WAITING_LINE = /\bclass \w*(?:Slots|Semaphore|Pool|Lanes?|Mutex)\b/;

// Where an aim is not met yet: what it is today. They only ever go down. Of the files that one other file imports, two in five have
// a test of their own, which is a reason to be a file.
const BORDER_LIMIT = 0;
const SINGLE_LIMIT = 36;
const NAMES_LIMIT = 10;
const WORDS_LIMIT = 6;

/**
 * For each option of an agent, the files that name it beside the folder of the options: where it is used. Only names of several
 * words, as others mean something else, too.
 */
function countOptionUsers(files) {
  const isTable = (file) => file.startsWith('node/options/');
  const rows = [...files].filter(([file]) => isTable(file) && /-options\.ts$/.test(file));
  const keys = rows.flatMap(([, text]) =>
    [...text.matchAll(/^  ([a-z]+[A-Z]\w*): \{$/gm)].map(([, key]) => key),
  );
  const others = [...files].filter(([file]) => !isTable(file)).map(([, text]) => new Set(text.match(/\w+/g)));
  return [...new Set(keys)].map((key) => others.filter((words) => words.has(key)).length);
}

/** For each metric, the files that name it: where it is registered and counted, and who else reads it. */
function countMetricUsers(files) {
  const names = [...files].flatMap(([file, text]) =>
    file.startsWith('node/telemetry/metrics/')
      ? [...text.matchAll(/name: '((?:podloop|kubelet)_\w+)'/g)].map(([, name]) => name)
      : [],
  );
  const texts = [...files.values()];
  return [...new Set(names)].map((name) => texts.filter((text) => text.includes(`'${name}'`)).length);
}

function medianOf(numbers) {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}

function meanOf(numbers) {
  return Math.round((100 * numbers.reduce((sum, each) => sum + each, 0)) / numbers.length) / 100;
}

/** Hand-written files that are no tests, by their path below src. */
function readSources(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
    name.split(path.sep).join('/'),
  );
  const wanted = names.filter(
    (name) => /(?<!\.test)\.tsx?$/.test(name) && !/(^|\/)cri\/generated\//.test(name),
  );
  return new Map(wanted.sort().map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]));
}

/** For each file, which files import it: static, dynamic and for types alone. */
function findImporters(files) {
  const importers = new Map([...files.keys()].map((file) => [file, new Set()]));
  for (const [from, text] of files) {
    for (const [, specifier] of text.matchAll(/(?:\bfrom |\bimport\()'([.#][^']+)'/g)) {
      const file = resolveSpecifier(from, specifier);
      (importers.get(file) ?? importers.get(file.replace(/\.ts$/, '.tsx')))?.add(from);
    }
  }
  return importers;
}

/** The file below src that a relative path or a name of an area (`#base/async/mutex.js`, `#watch`) stands for. */
function resolveSpecifier(from, specifier) {
  if (specifier.startsWith('.'))
    return path.posix.join(path.posix.dirname(from), specifier).replace(/\.js$/, '.ts');
  return specifier.endsWith('.js')
    ? specifier.slice(1).replace(/\.js$/, '.ts')
    : `${specifier.slice(1)}/index.ts`;
}

/** Calls of `subscribe` on a channel itself, and not on the channels of one agent. */
function countGlobalListeners(files) {
  const texts = [...files].filter(([file]) => !file.startsWith('base/channels/')).map(([, text]) => text);
  const names = [...files.values()].flatMap((text) =>
    [...text.matchAll(/const (\w+) = definePublishingChannel</g)].map(([, name]) => name),
  );
  if (names.length === 0) return 0;
  const listening = new RegExp(`\\b(?:${names.join('|')})\\s*\\.subscribe\\(`, 'g');
  return texts.reduce((count, text) => count + [...text.matchAll(listening)].length, 0);
}

function isOpened(file, importers) {
  const area = areaOf(file);
  if (OPEN_AREAS.has(area) || file.endsWith('/index.ts')) return false;
  return [...importers].some((from) => areaOf(from) !== area && areaOf(from) !== 'testing');
}

function areaOf(file) {
  return file.split('/')[0].replace(/\.tsx?$/, '');
}

/** In lines of comments, and in strings of the command line and of the table of options, which `--help` is made of. */
function countPrivateWords(files) {
  let [lines, words] = [0, 0];
  for (const [file, text] of files) {
    const isHelp = areaOf(file) === 'cli' || /\/options\/.*options(-table)?\.ts$/.test(file);
    for (const line of text.split('\n')) {
      const comment = /^\s*(?:\/\/|\/\*\*?|\*(?!\/))(.*)$/.exec(line)?.[1];
      const help = isHelp ? /(["'`])(?=[^"'`]*\s[^"'`]*\s)(.*)\1/.exec(line)?.[2] : undefined;
      const read = comment ?? help;
      if (read === undefined || read.trim() === '') continue;
      lines++;
      words += read.match(PRIVATE_WORDS)?.length ?? 0;
    }
  }
  return Math.round((1000 * words) / lines);
}

/** What `npm pack` would put into the package, and how many packages come with it. */
function measurePackage(repository) {
  const lock = JSON.parse(readFileSync(path.join(repository, 'package-lock.json'), 'utf8'));
  const installed = Object.entries(lock.packages).filter(([name, { dev }]) => name !== '' && dev !== true);
  const rows = [
    { name: 'packages that are installed with it', value: installed.length, aim: '<= 12', limit: 12 },
  ];
  if (!existsSync(path.join(repository, 'dist/program'))) return rows;
  const report = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: repository,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  const [{ entryCount, unpackedSize }] = JSON.parse(report);
  return [
    { name: 'files in the package', value: entryCount, aim: '<= 400', limit: 400 },
    // Rounded up, so that the limit is exact.
    { name: 'size of the package, in MB', value: Math.ceil(unpackedSize / 1e4) / 100, aim: '<= 8', limit: 8 },
    ...rows,
  ];
}

function countBy(values, keyOf) {
  const counts = new Map();
  for (const value of values) counts.set(keyOf(value), (counts.get(keyOf(value)) ?? 0) + 1);
  return counts;
}

const rows = measureHouse(process.env.PODLOOP_HOUSE ?? REPOSITORY);
if (process.argv.includes('--json')) console.log(JSON.stringify(rows));
else {
  const shown = rows.map(({ name, value, aim, limit = '' }) => [
    name,
    { before: BEFORE[name] ?? '', today: value, aim, limit },
  ]);
  console.table(Object.fromEntries(shown));
}
if (rows.some(({ value, limit }) => limit !== undefined && value > limit)) process.exitCode = 1;
