import { type ConfigMap } from '#kube/objects/config-object.js';
import { toV1ConfigObject } from '#kube/objects/config-object-json.js';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { ApiError, notFoundError } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest, isTrue, jsonAnswer } from '../http/api-request.js';
import { parseFieldSelector, type SelectableFields } from './field-selector.js';
import { readLabelSelector } from './label-selector.js';

/** A ConfigMap with its source and creation time. */
export interface ServedConfigMap {
  readonly object: ConfigMap;
  readonly source: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly createdAtMs: number;
}

/** The ConfigMaps of all sources, in no order. */
export type ReadConfigMaps = () => readonly ServedConfigMap[];

const FIELDS: SelectableFields<ConfigMap> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace,
};

/** GET …/configmaps: as delivered by the sources. */
export function listConfigMaps(read: ReadConfigMaps, version: () => number): ApiHandler {
  return ({ params, query }) => {
    if (isTrue(query, 'watch')) throw new ApiError('MethodNotAllowed', 'configmaps cannot be watched');
    const { namespace } = params;
    const hasLabels = readLabelSelector(query);
    const hasFields = parseFieldSelector(query.get('fieldSelector') ?? '', FIELDS);
    const items = read()
      .filter(({ object: { metadata } }) => namespace === undefined || metadata.namespace === namespace)
      .filter(({ object }) => hasLabels(object.metadata.labels ?? {}) && hasFields(object))
      .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
      .map(renderConfigMap);
    const metadata = { resourceVersion: String(version()) };
    return jsonAnswer({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items });
  };
}

/** GET …/configmaps/{name}. */
export function getConfigMap(read: ReadConfigMaps): ApiHandler {
  return (request) => jsonAnswer(renderConfigMap(findConfigMap(read, request)));
}

/** Finds the one in the path, or throws NotFound. */
export function findConfigMap(read: ReadConfigMaps, { params }: Pick<ApiRequest, 'params'>): ServedConfigMap {
  const { namespace, name = '' } = params;
  const found = read().find(
    ({ object: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
  );
  if (found === undefined) throw notFoundError('configmaps', name);
  return found;
}

/** As `kubectl get -o json` shows it. Pure. */
export function renderConfigMap({ object, createdAtMs }: ServedConfigMap): object {
  const { metadata, ...rest } = toV1ConfigObject(object);
  return { ...rest, metadata: { ...metadata, creationTimestamp: toV1Time(createdAtMs) } };
}

function keyOf({ object: { metadata } }: ServedConfigMap): string {
  return `${metadata.namespace}\0${metadata.name}`;
}
