// `npm run docs:api`: writes docs/reference/api, one page for each entry of the package, from the docstrings in the types that users
// get (dist/lib, which `npm run build` makes).
//
//   node scripts/api-reference.mjs [--check]     only says whether the pages are up to date and every export has a docstring
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Application, Comment, ReflectionKind } from 'typedoc';
import { load } from 'typedoc-plugin-markdown';
import ts from 'typescript';

const REPOSITORY = path.resolve(import.meta.dirname, '..');
const PAGES = path.join(REPOSITORY, 'docs/reference/api');
const ENTRIES = JSON.parse(readFileSync(new URL('./library-entries.json', import.meta.url), 'utf8'));
/** CRI's own messages, generated from its protobuf file: hundreds of types that are documented there. */
const GENERATED = 'cri';

const app = await Application.bootstrap({
  entryPoints: Object.keys(ENTRIES).map((entry) => path.join(REPOSITORY, 'dist/lib', `${entry}.d.ts`)),
  ...{ name: 'API reference', readme: 'none', sort: ['kind', 'alphabetical'], logLevel: 'Error' },
  ...{ disableSources: true, disableGit: true, excludePrivate: true, skipErrorChecking: true },
});
app.options.setCompilerOptions(
  [],
  {
    ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, types: ['node'] },
    ...{ moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true, skipLibCheck: true, noEmit: true },
  },
  undefined,
);
load(app);
const LOOKS = {
  ...{ outputFileStrategy: 'modules', flattenOutputFiles: true, hideBreadcrumbs: true, hidePageHeader: true },
  ...{ useCodeBlocks: true, interfacePropertiesFormat: 'table', classPropertiesFormat: 'table' },
  ...{ parametersFormat: 'table', typeDeclarationFormat: 'table', propertyMembersFormat: 'table' },
  useHTMLAnchors: true,
};
for (const [name, value] of Object.entries(LOOKS)) app.options.setValue(name, value);

const project = await app.convert();
if (project?.children === undefined)
  throw new Error('the types in dist/lib cannot be read: run npm run build');
const undocumented = [];
for (const module of project.children) {
  const entry = path.basename(module.name);
  module.name = entry === 'index' ? 'podloop' : `podloop/${entry}`;
  module.comment = new Comment([{ kind: 'text', text: readModuleComment(`src/${ENTRIES[entry]}.ts`) }]);
  for (const each of module.children ?? []) {
    if (each.kindOf(ReflectionKind.Namespace) && each.name === GENERATED) project.removeReflection(each);
    else if (!hasDocstring(each)) undocumented.push(`${module.name}: ${each.name}`);
  }
}

const folder = mkdtempSync(path.join(REPOSITORY, 'dist/.api-'));
try {
  await app.outputs.writeOutput({ name: 'markdown', path: folder }, project);
  const changed = listChanged(folder, PAGES);
  if (!process.argv.includes('--check')) {
    rmSync(PAGES, { recursive: true, force: true });
    renameSync(folder, PAGES);
    console.log(`${changed.length} pages of docs/reference/api have changed`);
  } else if (changed.length > 0) {
    console.error(`Run npm run docs:api: docs/reference/api is out of date (${changed.join(', ')})`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (undocumented.length > 0) {
  console.error(`Exports without a docstring:\n${undocumented.join('\n')}`);
  process.exitCode = 1;
}

/** Types alone may be documented where they are made; what is exported from another entry is documented there. */
function hasDocstring(reflection) {
  if (reflection.kindOf(ReflectionKind.Reference)) return true;
  return [reflection, ...(reflection.signatures ?? [])].some((each) => each.hasComment());
}

/** The `@module` block that an entry's file begins with, which the bundled types leave out. */
function readModuleComment(file) {
  const [, block = ''] =
    /^\/\*\*\n([^]*?)\n \*\//.exec(readFileSync(path.join(REPOSITORY, file), 'utf8')) ?? [];
  return block
    .replaceAll(/^ \* ?/gm, '')
    .replace(/^@module.*$/m, '')
    .replaceAll(/^@example *$/gm, '**Example**\n')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .trim();
}

/** The files that only one of the two folders has, or that differ. */
function listChanged(one, other) {
  const [fresh, kept] = [one, other].map(readPages);
  return [...new Set([...fresh.keys(), ...kept.keys()])].filter((file) => fresh.get(file) !== kept.get(file));
}

function readPages(folder) {
  let files;
  try {
    files = readdirSync(folder);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    files = [];
  }
  return new Map(files.map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]));
}
