import {
  type ContainerObject,
  type EnvObject,
  type KeyRefObject,
  type PodObject,
} from '#kube/columns/kube-object.js';
import { cell, type TabWriter } from './tab-writer.js';

/** The environment of a container as its pod says it: where a value comes from, and never a Secret's. */
export function describeEnv(container: ContainerObject, pod: PodObject, writer: TabWriter): void {
  const { env = [], envFrom = [] } = container;
  if (envFrom.length > 0) writer.line(2, 'Environment Variables from:');
  for (const { prefix = '', configMapRef, secretRef } of envFrom) {
    const kind = configMapRef === undefined ? 'Secret' : 'ConfigMap';
    const { name = '', optional = false } = configMapRef ?? secretRef ?? {};
    const how = prefix === '' ? kind : `${kind} with prefix '${cell(prefix)}'`;
    writer.line(3, `${cell(name)}\t${how}\tOptional: ${optional}`);
  }
  writer.line(2, env.length === 0 ? 'Environment:\t<none>' : 'Environment:');
  for (const variable of env) describeVariable(variable, container, pod, writer);
}

function describeVariable(
  variable: EnvObject,
  container: ContainerObject,
  pod: PodObject,
  writer: TabWriter,
): void {
  const { name = '', value = '', valueFrom } = variable;
  const title = `${cell(name)}:`;
  if (valueFrom === undefined) {
    for (const [at, line] of value.split('\n').entries())
      writer.line(3, `${at === 0 ? title : ''}\t${cell(line)}`);
    return;
  }
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (fieldRef !== undefined) {
    const { apiVersion = 'v1', fieldPath = '' } = fieldRef;
    writer.line(3, `${title}\t${cell(fieldOf(pod, fieldPath))} (${cell(apiVersion)}:${cell(fieldPath)})`);
  } else if (resourceFieldRef !== undefined) {
    const { resource = '' } = resourceFieldRef;
    writer.line(3, `${title}\t${cell(resourceOf(container, resource))} (${cell(resource)})`);
  } else if (secretKeyRef !== undefined) {
    writer.line(3, `${title}\t${describeKey(secretKeyRef, 'in secret')}`);
  } else if (configMapKeyRef !== undefined) {
    writer.line(3, `${title}\t${describeKey(configMapKeyRef, 'of config map')}`);
  }
}

function describeKey({ name = '', key = '', optional = false }: KeyRefObject, where: string): string {
  return `<set to the key '${cell(key)}' ${where} '${cell(name)}'>\tOptional: ${optional}`;
}

/** The fields that kubectl fills in: those of the metadata. Others, which a container gets all the same, stay empty. */
function fieldOf({ metadata = {} }: PodObject, path: string): string {
  const { name = '', namespace = '', uid = '', labels = {}, annotations = {} } = metadata;
  const plain: Readonly<Record<string, string>> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
  };
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? [];
  if (map === undefined) return plain[path] ?? '';
  return (map === 'labels' ? labels : annotations)[key] ?? '';
}

function resourceOf({ resources = {} }: ContainerObject, resource: string): string {
  const [part, ...name] = resource.split('.');
  const amounts = part === 'limits' ? resources.limits : resources.requests;
  const amount = amounts?.[name.join('.')];
  if (amount !== undefined) return String(amount);
  return resource === 'limits.cpu' || resource === 'limits.memory' ? 'node allocatable' : '0';
}
