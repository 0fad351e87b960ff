import { type KubeObject } from '#kube/columns/kube-object.js';
import { failure } from '../../command-failure.js';
import { messageOf } from '#base/errors/errors.js';
import { parseTemplate, relaxTemplate } from '../../shared/jsonpath/parse-template.js';
import { PathError } from '../../shared/jsonpath/path-node.js';
import { findResults } from '../../shared/jsonpath/run-template.js';

/** What `--for` names. */
export interface WaitCondition {
  /** It holds when there is no such object. */
  readonly isDelete: boolean;
  /** An object that is not there yet is waited for. */
  readonly isCreate: boolean;
  /** Whether an object is as wanted. */
  readonly isMet: (object: KubeObject) => boolean;
}

const FORMS =
  'use delete, create, condition=NAME[=VALUE], as in condition=Ready, or jsonpath=EXPRESSION[=VALUE], as in jsonpath={.status.phase}=Running';

/** Reads the value of `--for` as kubectl does. Throws a CommandFailure. */
export function readWaitCondition(text: string): WaitCondition {
  const lower = text.toLowerCase();
  if (lower === 'delete') return { isDelete: true, isCreate: false, isMet: () => false };
  if (lower === 'create') return { isDelete: false, isCreate: true, isMet: () => true };
  if (lower.startsWith('condition=')) return condition(text.slice('condition='.length));
  if (lower.startsWith('jsonpath=')) return byPath(text.slice('jsonpath='.length));
  throw failure(`unrecognized condition: ${JSON.stringify(text)}: ${FORMS}`);
}

function condition(text: string): WaitCondition {
  const [name = '', value = 'true', ...rest] = text.split('=');
  if (name === '' || rest.length > 0)
    throw failure(`condition must be NAME or NAME=VALUE, not ${JSON.stringify(text)}`);
  const isMet = (object: KubeObject): boolean => {
    const { conditions = [] } =
      (
        object as {
          readonly status?: { readonly conditions?: readonly { type?: string; status?: string }[] };
        }
      ).status ?? {};
    const found = conditions.find(({ type = '' }) => type.toLowerCase() === name.toLowerCase());
    return found?.status?.toLowerCase() === value.toLowerCase();
  };
  return { isDelete: false, isCreate: false, isMet };
}

function byPath(text: string): WaitCondition {
  // The expression may have an equals sign in a filter.
  const end = text.lastIndexOf('}');
  const at = end === -1 ? text.indexOf('=') : text.indexOf('=', end);
  const expression = unquoted(at === -1 ? text : text.slice(0, at));
  const value = at === -1 ? undefined : unquoted(text.slice(at + 1));
  if (expression === '') throw failure('jsonpath wait expression cannot be empty');
  if (value === '') throw failure('jsonpath wait has to have a value after equal sign');
  const parts = readTemplate(expression);
  const isMet = (object: KubeObject): boolean => {
    const found = find(parts, object);
    if (found.length === 0) return false;
    if (found.length > 1)
      throw failure(`given jsonpath expression ${expression} matches more than one value`);
    return value === undefined || String(found[0]) === value;
  };
  return { isDelete: false, isCreate: false, isMet };
}

function readTemplate(expression: string): ReturnType<typeof parseTemplate> {
  try {
    return parseTemplate(relaxTemplate(expression));
  } catch (error) {
    throw failure(`error parsing jsonpath ${expression}: ${messageOf(error)}`);
  }
}

function find(parts: ReturnType<typeof parseTemplate>, object: KubeObject): readonly unknown[] {
  try {
    return findResults(parts, object, { allowMissingKeys: true }).flat();
  } catch (error) {
    if (error instanceof PathError) return [];
    throw error;
  }
}

function unquoted(text: string): string {
  return /^(['"]).*\1$/s.test(text) ? text.slice(1, -1) : text;
}
