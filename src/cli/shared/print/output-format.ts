import { readFile } from 'node:fs/promises';
import { messageOf } from '#base/errors/errors.js';
import { failure } from '../../command-failure.js';
import { parseTemplate } from '../jsonpath/parse-template.js';
import { type TemplatePart } from '../jsonpath/path-node.js';
import { type CustomColumn, parseColumnsFile, parseCustomColumns } from './custom-columns.js';

/** What `-o` asks for. */
export type OutputFormat =
  | { readonly kind: 'table'; readonly wide: boolean }
  | { readonly kind: 'json' | 'yaml' | 'name' }
  | { readonly kind: 'jsonpath'; readonly template: readonly TemplatePart[]; readonly text: string }
  | { readonly kind: 'columns'; readonly columns: readonly CustomColumn[] };

/** What `-o` takes, in kubectl's order; those of Go's templates are not among them. */
const FORMATS = [
  'json',
  'yaml',
  'name',
  'wide',
  'jsonpath',
  'jsonpath-file',
  'custom-columns',
  'custom-columns-file',
];
const GO_TEMPLATES = ['go-template', 'go-template-file', 'template', 'templatefile'];

/** Reads `-o`, as in `wide`, `jsonpath={.items[*].metadata.name}`, `custom-columns-file=FILE`. Rejects with a CommandFailure. */
export async function readOutputFormat(text: string | undefined): Promise<OutputFormat> {
  if (text === undefined || text === '') return { kind: 'table', wide: false };
  const [, name = '', separator, value = ''] = /^([^=]*)(=?)(.*)$/s.exec(text) ?? [];
  if (GO_TEMPLATES.includes(name)) {
    throw failure(
      `-o ${name} is not supported, as it needs Go; use -o jsonpath=… or -o custom-columns=… instead`,
    );
  }
  try {
    return await readKnown(name, separator === '=', value, text);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'PathError') throw error;
    throw failure(
      name.startsWith('jsonpath') ? `error parsing jsonpath ${value}, ${error.message}` : error.message,
    );
  }
}

async function readKnown(
  name: string,
  hasValue: boolean,
  value: string,
  text: string,
): Promise<OutputFormat> {
  switch (name) {
    case 'wide':
      return { kind: 'table', wide: true };
    case 'json':
    case 'yaml':
    case 'name':
      if (hasValue) break;
      return { kind: name };
    case 'jsonpath':
    case 'jsonpath-file': {
      if (value === '') throw failure(`template format specified but no template given`);
      const template = name === 'jsonpath' ? value : await readTemplateFile(value, 'template');
      return { kind: 'jsonpath', template: parseTemplate(template), text: template };
    }
    case 'custom-columns':
      return { kind: 'columns', columns: parseCustomColumns(value) };
    case 'custom-columns-file':
      return { kind: 'columns', columns: parseColumnsFile(await readTemplateFile(value, 'template')) };
  }
  throw failure(
    `unable to match a printer suitable for the output format "${text}", allowed formats are: ${FORMATS.join(',')}`,
  );
}

async function readTemplateFile(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw failure(`error reading ${what} ${path}, ${messageOf(error)}`);
  }
}
