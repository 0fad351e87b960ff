import { readdirSync, readFileSync } from 'node:fs';
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

/** Every import of a file below src/. */
export function importsOf(file: string, text = readText(`src/${file}`)): SourceImport[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const imports: SourceImport[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return;
    const isPackage = !specifier.text.startsWith('.');
    const to = isPackage
      ? specifier.text
      : path.posix.join(path.posix.dirname(file), specifier.text).replace(/\.js$/, '.ts');
    imports.push({ from: file, to, isPackage, typeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyImport(node));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyExport(node));
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, true);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return imports;
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
