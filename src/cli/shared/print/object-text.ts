import { stringify } from 'yaml';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { sortKeys } from '../jsonpath/run-template.js';

/** An object as kubectl prints it with `-o json`: keys in order, four spaces. */
export function toJsonText(object: KubeObject): string {
  return JSON.stringify(sortKeys(object), undefined, 4);
}

/** Lists no deeper than their key, no line break in text. */
export const YAML_FORM = {
  ...{ indentSeq: false, lineWidth: 0, aliasDuplicateObjects: false },
  // So that YAML 1.1's readers, kubectl's among them, take "yes" and "on" for text.
  version: '1.1',
} as const;

/** An object as kubectl prints it with `-o yaml`: keys in order, no line break at its end. */
export function toYamlText(object: KubeObject): string {
  const text = stringify(sortKeys(object), YAML_FORM);
  return text.replace(/\n$/, '');
}
