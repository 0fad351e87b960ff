import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import ts from 'typescript';

/** The folder of the repository. */
export const REPOSITORY = path.resolve(import.meta.dirname, '..');

/** One import as it stands in a file: type-only, dynamic and re-exporting ones too. */
export interface SourceImport {
  /** Path of the importing file below src/, with forward slashes. */
  readonly from: string;
  /** Path of the imported file below src/, or the specifier of a package. */
  readonly to: string;
  readonly isPackage: boolean;
  /** Whether nothing of it is left at run time. */
  readonly typeOnly: boolean;
  /** Whether it is imported by a name of package.json, such as `#watch`, and not by a relative path. */
  readonly isByName: boolean;
}

/** Files below `folder` of the repository with one of these endings; paths relative to it, sorted. */
export function listFiles(folder: string, ...endings: string[]): string[] {
  return readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => endings.some((ending) => file.endsWith(ending)))
    .sort();
}

/** The text of a file of the repository. */
export function readText(file: string): string {
  return readFileSync(path.join(REPOSITORY, file), 'utf8');
}

/**
 * Every import of a file below src/. What is imported through the door of an area (its index.ts, as `#watch`) counts as
 * an import of the file that the door has it from.
 */
export function importsOf(file: string, text = readText(`src/${file}`)): SourceImport[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const imports: SourceImport[] = [];
  const add = (
    specifier: ts.Node | undefined,
    typeOnly: boolean,
    names: readonly ImportedName[] = [],
  ): void => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return;
    const isByName = specifier.text.startsWith('#');
    const isPackage = !isByName && !specifier.text.startsWith('.');
    const push = (to: string, only = typeOnly): void => {
      imports.push({ from: file, to, isPackage, typeOnly: only, isByName });
    };
    if (isPackage) push(specifier.text);
    else if (!isByName) push(toSource(path.posix.join(path.posix.dirname(file), specifier.text)));
    else {
      const door = resolveName(specifier.text);
      const origins = DOORS.has(door) ? originsOf(door) : undefined;
      if (origins === undefined || names.length === 0) push(door);
      else for (const each of names) push(origins.get(each.name) ?? door, typeOnly || each.typeOnly);
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      const named = node.importClause?.namedBindings;
      const elements = named !== undefined && ts.isNamedImports(named) ? named.elements : [];
      add(node.moduleSpecifier, isTypeOnlyImport(node), [...elements].map(toImportedName));
    } else if (ts.isExportDeclaration(node)) {
      const clause = node.exportClause;
      const elements = clause !== undefined && ts.isNamedExports(clause) ? clause.elements : [];
      add(node.moduleSpecifier, isTypeOnlyExport(node), [...elements].map(toImportedName));
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, true);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return imports;
}

/** The source of a module that is imported as `x.js`: a part of the page has markup inside. */
function toSource(file: string): string {
  const page = file.replace(/\.js$/, '.tsx');
  return existsSync(path.join(REPOSITORY, 'src', page)) ? page : file.replace(/\.js$/, '.ts');
}

interface ImportedName {
  readonly name: string;
  readonly typeOnly: boolean;
}

function toImportedName({
  name,
  propertyName,
  isTypeOnly,
}: ts.ImportSpecifier | ts.ExportSpecifier): ImportedName {
  return { name: (propertyName ?? name).text, typeOnly: isTypeOnly };
}

/** The doors of areas that others in podloop use; entries of the package are modules as any other. */
const DOORS: ReadonlySet<string> = new Set(
  ['watch', 'history', 'doctor', 'cluster', 'node'].map((area) => `${area}/index.ts`),
);

const { imports: AREA_NAMES } = JSON.parse(readText('package.json')) as {
  readonly imports: Readonly<Record<string, { readonly 'podloop-source': string }>>;
};

/** The file below src/ that a name of package.json's `imports` stands for: `#base/async/mutex.js`, `#watch`. */
function resolveName(name: string): string {
  const exact = AREA_NAMES[name]?.['podloop-source'];
  if (exact !== undefined) return exact.replace('./src/', '');
  for (const [pattern, { 'podloop-source': target }] of Object.entries(AREA_NAMES)) {
    const [before = '', after] = pattern.split('*');
    if (after === undefined || !name.startsWith(before)) continue;
    return target.replace('./src/', '').replace('*', name.slice(before.length)).replace(/\.js$/, '.ts');
  }
  throw new Error(`package.json knows no ${name}`);
}

const origins = new Map<string, ReadonlyMap<string, string>>();

/** By each name that a door has, the file that it has it from. */
function originsOf(door: string): ReadonlyMap<string, string> {
  let found = origins.get(door);
  if (found === undefined) {
    const names = [...readText(`src/${door}`).matchAll(/export \{([^}]*)\} from '([^']*)\.js'/g)];
    found = new Map(
      names.flatMap(([, list = '', from = '']) =>
        list
          .split(',')
          .map((each) => each.trim().replace(/^type /, ''))
          .filter((each) => each !== '')
          .map((each) => [each, `${path.posix.join(path.posix.dirname(door), from)}.ts`] as const),
      ),
    );
    origins.set(door, found);
  }
  return found;
}

function isTypeOnlyImport({ importClause: clause }: ts.ImportDeclaration): boolean {
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause.namedBindings;
  return (
    clause.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.every((element) => element.isTypeOnly)
  );
}

function isTypeOnlyExport({ isTypeOnly, exportClause: clause }: ts.ExportDeclaration): boolean {
  if (isTypeOnly) return true;
  return (
    clause !== undefined &&
    ts.isNamedExports(clause) &&
    clause.elements.every((element) => element.isTypeOnly)
  );
}
