import { type ConfigMap } from '../model/config-object.js';
import { toV1ConfigObject } from '../model/config-object-json.js';
import { ApiError, notFoundError } from './api-error.js';
import { type ApiHandler, isTrue, jsonAnswer } from './api-request.js';
import { parseFieldSelector, type SelectableFields } from './field-selector.js';
import { parseLabelSelector } from './label-selector.js';

/** The ConfigMaps of all sources, in no order. */
export type ReadConfigMaps = () => readonly ConfigMap[];

const FIELDS: SelectableFields<ConfigMap> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace,
};

/** GET …/configmaps: as the sources have them. */
export function listConfigMaps(read: ReadConfigMaps, version: () => number): ApiHandler {
  return ({ params, query }) => {
    if (isTrue(query, 'watch')) throw new ApiError('MethodNotAllowed', 'configmaps cannot be watched');
    const { namespace } = params;
    const hasLabels = parseLabelSelector(query.get('labelSelector') ?? '');
    const hasFields = parseFieldSelector(query.get('fieldSelector') ?? '', FIELDS);
    const items = read()
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .filter((each) => hasLabels(each.metadata.labels ?? {}) && hasFields(each))
      .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
      .map((each) => toV1ConfigObject(each));
    const metadata = { resourceVersion: String(version()) };
    return jsonAnswer({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items });
  };
}

/** GET …/configmaps/{name}. */
export function getConfigMap(read: ReadConfigMaps): ApiHandler {
  return ({ params: { namespace, name = '' } }) => {
    const found = read().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    if (found === undefined) throw notFoundError('configmaps', name);
    return jsonAnswer(toV1ConfigObject(found));
  };
}

function keyOf({ metadata }: ConfigMap): string {
  return `${metadata.namespace}\0${metadata.name}`;
}
